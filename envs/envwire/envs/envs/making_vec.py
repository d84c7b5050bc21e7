"""Making a vector environment: many copies of one environment, or its own vectorised form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from enum import Enum
from typing import Any, cast

from envwire.envs import error, logger, vector
from envwire.envs.core import Env
from envwire.envs.envs.making import load_entry_point, make
from envwire.envs.envs.registry import spec_of
from envwire.envs.specs import EnvSpec


class VectorizeMode(Enum):
    """How `make_vec` makes many environments of one."""

    ASYNC = "async"
    SYNC = "sync"
    VECTOR_ENTRY_POINT = "vector_entry_point"


class _Request:
    """The arguments of a call to `make_vec`; those among the kwargs of the spec take precedence."""

    def __init__(self, spec: EnvSpec, arguments: dict[str, Any], kwargs: dict[str, Any]) -> None:
        self.spec = deepcopy(spec)
        # The spec of a made vector environment carries them among its kwargs.
        recorded = arguments.keys() & self.spec.kwargs.keys()
        arguments = arguments | {key: self.spec.kwargs.pop(key) for key in recorded}
        self.kwargs: dict[str, Any] = self.spec.kwargs | kwargs
        self.spec.kwargs = {}
        self.num_envs: int = arguments["num_envs"]
        self.vector_kwargs: dict[str, Any] = arguments["vector_kwargs"] or {}
        self.wrappers: Sequence[Callable[[Env], Env]] = arguments["wrappers"] or ()
        self.mode = self._choose_mode(arguments["vectorization_mode"])

    def _choose_mode(self, mode: VectorizeMode | str | None) -> VectorizeMode:
        if mode is None:
            own = self.spec.vector_entry_point is not None
            return VectorizeMode.VECTOR_ENTRY_POINT if own else VectorizeMode.SYNC
        try:
            return VectorizeMode(mode)
        except ValueError as exc:
            valid = [each.value for each in VectorizeMode]
            raise ValueError(
                f"Invalid vectorization mode {mode!r}, expected one of {valid}"
            ) from exc

    def single_env(self) -> Env:
        env = make(self.spec, **self.kwargs)
        for wrapper in self.wrappers:
            env = wrapper(env)
        return env

    def made_spec(self) -> EnvSpec:
        """The spec that makes the same vector environment again."""
        spec = deepcopy(self.spec)
        spec.kwargs = self.kwargs | {"vectorization_mode": self.mode.value}
        if self.num_envs != 1:
            spec.kwargs["num_envs"] = self.num_envs
        if self.vector_kwargs:
            spec.kwargs["vector_kwargs"] = self.vector_kwargs
        if self.wrappers:
            spec.kwargs["wrappers"] = self.wrappers
        return spec


def make_vec(
    id: str | EnvSpec,  # noqa: A002 - the public name of the argument
    num_envs: int = 1,
    vectorization_mode: VectorizeMode | str | None = None,
    vector_kwargs: dict[str, Any] | None = None,
    wrappers: Sequence[Callable[[Env], Env]] | None = None,
    **kwargs: Any,
) -> vector.VectorEnv:
    """Makes a vector environment of ``num_envs`` copies of a registered environment.

    Args:
        id: An id or a spec, as `make` takes it.
        num_envs: The number of copies.
        vectorization_mode: ``"sync"`` steps them one after another, ``"async"`` each in a process
            of its own; ``"vector_entry_point"`` uses the environment's own vectorised form, and is
            the default where there is one.
        vector_kwargs: Arguments for the vectoriser, `SyncVectorEnv` or `AsyncVectorEnv`.
        wrappers: Functions that wrap each copy, innermost first.
        **kwargs: Arguments for each environment.

    Raises:
        error.Error: The id is unknown, the mode does not exist for this environment, or an argument
            does not go with the mode.
        ValueError: There is no such mode.
    """
    arguments = {
        "num_envs": num_envs,
        "vectorization_mode": vectorization_mode,
        "vector_kwargs": vector_kwargs,
        "wrappers": wrappers,
    }
    request = _Request(spec_of(id, "make_vec", error.Error), arguments, kwargs)
    env = _vectorize(request)
    env.unwrapped.spec = request.made_spec()
    mode = env.metadata.get("autoreset_mode")
    if not isinstance(mode, vector.AutoresetMode):
        logger.warn(f"metadata['autoreset_mode'] of {env} should be an AutoresetMode, got {mode!r}")
    return env


def _vectorize(request: _Request) -> vector.VectorEnv:
    if request.mode is VectorizeMode.VECTOR_ENTRY_POINT:
        return _make_own(request)
    if request.spec.entry_point is None:
        raise error.Error(
            f"{request.spec.id} has no entry_point, only a vector_entry_point; "
            "use vectorization_mode='vector_entry_point'"
        )
    env_fns = [request.single_env] * request.num_envs
    if request.mode is VectorizeMode.ASYNC:
        return vector.AsyncVectorEnv(env_fns, **request.vector_kwargs)
    return vector.SyncVectorEnv(env_fns, **request.vector_kwargs)


def _make_own(request: _Request) -> vector.VectorEnv:
    spec = request.spec
    _refuse_for_own(spec.id, "vector_kwargs", request.vector_kwargs)
    _refuse_for_own(spec.id, "wrappers", request.wrappers)
    _refuse_for_own(spec.id, "additional_wrappers in the spec", spec.additional_wrappers)
    missing = f"{spec.id} has no vector_entry_point; use vectorization_mode='sync'"
    creator = load_entry_point(spec.vector_entry_point, missing)
    if spec.max_episode_steps is not None:
        request.kwargs.setdefault("max_episode_steps", spec.max_episode_steps)
    return cast("vector.VectorEnv", creator(num_envs=request.num_envs, **request.kwargs))


def _refuse_for_own(env_id: str, name: str, value: Any) -> None:
    if value:
        raise error.Error(
            f"The vectorised form of {env_id} takes no {name}, got {value}; pass its arguments "
            "directly, or use vectorization_mode='sync'"
        )
