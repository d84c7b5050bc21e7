"""Entry points: the functions that make environments, given directly or as ``"module:name"``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, cast

from envwire.envs import error

if TYPE_CHECKING:
    from collections.abc import Callable

    from envwire.envs.core import Env
    from envwire.envs.specs import EnvSpec
    from envwire.envs.vector.vector_env import VectorEnv


class EnvCreator(Protocol):
    """A function (or class) that makes an environment."""

    def __call__(self, **kwargs: Any) -> Env:
        """Makes one; the spec's kwargs and those of `make` are passed by name."""
        ...


class VectorEnvCreator(Protocol):
    """A function (or class) that makes a vector environment."""

    def __call__(self, **kwargs: Any) -> VectorEnv:
        """Makes one; ``num_envs`` is among the arguments."""
        ...


def load_env_creator(name: str) -> Callable[..., Any]:
    """Imports and returns what ``"module:name"`` names."""
    import importlib

    module, attribute = name.split(":")
    return cast("Callable[..., Any]", getattr(importlib.import_module(module), attribute))


def load_entry_point(spec: EnvSpec) -> Callable[..., Any]:
    """Returns the function that makes the environment of ``spec``, imported if it is a name.

    Raises:
        error.Error: The spec has none.
    """
    creator = spec.entry_point
    if creator is None:
        raise error.Error(f"{spec.id} has no entry_point; it can only be made with `make_vec`")
    return load_env_creator(creator) if isinstance(creator, str) else creator
