"""`RemoteEnv`: a remote environment with the interface of `envwire.envs.Env`."""

from __future__ import annotations

from typing import Any

from envwire import envs
from envwire.client._env.proxy import RemoteProxy
from envwire.client._transports.servers import Targets
from envwire.codec import envwire_family


class RemoteEnv(RemoteProxy, envs.Env[Any, Any]):  # type: ignore[misc,override]  # its generator is a mirror  # noqa: D101 - its base documents it
    __doc__ = RemoteProxy.__doc__

    _family = envwire_family()
    _entry_point = "envwire.client.env:make_remote"


def make_remote(target: Targets, env_id: str, **kwargs: Any) -> RemoteEnv:
    """Makes a `RemoteEnv`. It is the entry point in a proxy's `spec`, which `make` calls."""
    return RemoteEnv(target, env_id, **kwargs)
