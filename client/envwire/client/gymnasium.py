"""The proxy as a true `gymnasium.Env` with `gymnasium.spaces`. Needs `envwire[gymnasium]`.

Importing this module registers `envwire/Remote-v0`, for `gymnasium.make`.
"""

from __future__ import annotations

from typing import Any

import gymnasium

from envwire.client import gymnasium_plugin
from envwire.client._proxy import RemoteProxy
from envwire.codec import gymnasium_family


class RemoteEnv(RemoteProxy, gymnasium.Env[Any, Any]):  # type: ignore[misc,override]  # its generator is a mirror
    """A remote environment that is a `gymnasium.Env`; for its arguments see `envwire.client.RemoteEnv`."""

    _family = gymnasium_family()


def make_remote(target: str, env_id: str, **kwargs: Any) -> RemoteEnv:
    """Makes a `RemoteEnv`: what `gymnasium.make("envwire/Remote-v0", target=..., env_id=...)` calls."""
    return RemoteEnv(target, env_id, **kwargs)


gymnasium_plugin.register()

__all__ = ["RemoteEnv", "make_remote"]
