"""Remote environments that are `gymnasium.Env` and `gymnasium.vector.VectorEnv`. Needs `envwire[gymnasium]`.

Importing this module registers `envwire/Remote-v0` for `gymnasium.make`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium

from envwire.client import gymnasium_plugin
from envwire.client._env.proxy import RemoteProxy
from envwire.client._vector.proxy import VectorProxy
from envwire.codec import gymnasium_family

if TYPE_CHECKING:
    _VectorEnv = gymnasium.vector.VectorEnv[Any, Any, Any]
else:
    _VectorEnv = gymnasium.vector.VectorEnv  # not generic before 1.0


def _kept(env: Any) -> Any:
    """Returns the specification that a proxy keeps; a look-up as an attribute would ask the server."""
    return env.__dict__.get("_kept_spec")


class _Spec:
    """The attribute `spec` of a proxy.

    `gymnasium.make` replaces it by that of `envwire/Remote-v0`; the time limit and the reward threshold stay, since
    programs and wrappers read them there.
    """

    def __get__(self, env: Any, owner: type[Any]) -> Any:
        return None if env is None else _kept(env)

    def __set__(self, env: Any, spec: Any) -> None:
        known = _kept(env)
        if spec is not None and known is not None:
            for name in ("max_episode_steps", "reward_threshold"):
                if getattr(spec, name) is None:
                    setattr(spec, name, getattr(known, name))
        env._kept_spec = spec


class RemoteEnv(RemoteProxy, gymnasium.Env[Any, Any]):  # type: ignore[misc,override]  # its generator is a mirror
    """A remote environment that is a `gymnasium.Env`; for its arguments see `envwire.client.RemoteEnv`."""

    _family = gymnasium_family()
    _entry_point = "envwire.client.gymnasium:make_remote"
    spec: Any = _Spec()


def make_remote(target: str, env_id: str, **kwargs: Any) -> RemoteEnv:
    """Makes a `RemoteEnv`; the entry point of `gymnasium.make("envwire/Remote-v0", target=..., env_id=...)`."""
    return RemoteEnv(target, env_id, **kwargs)


class RemoteVectorEnv(VectorProxy, _VectorEnv):  # type: ignore[override]  # copies
    """Remote environments that are a `gymnasium.vector.VectorEnv`; see `envwire.client.RemoteVectorEnv`."""

    _family = gymnasium_family()
    spec: Any = _Spec()


def make_remote_vec(target: str, env_id: str, num_envs: int = 1, **kwargs: Any) -> RemoteVectorEnv:
    """Makes a `RemoteVectorEnv`; the entry point of `gymnasium.make_vec("envwire/Remote-v0", ...)`."""
    return RemoteVectorEnv(target, env_id, num_envs, **kwargs)


gymnasium_plugin.register()

__all__ = ["RemoteEnv", "RemoteVectorEnv", "make_remote", "make_remote_vec"]
