"""Making an environment from its spec: construct it, then wrap it; many copies of it, or its vectorised form."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from copy import deepcopy
from dataclasses import replace
from enum import Enum
from typing import Any, TypeAlias, cast

from envwire.envs import error, logger, vector, wrappers
from envwire.envs.core import Env
from envwire.envs.envs.registry import spec_of
from envwire.envs.specs import EnvSpec, WrapperSpec

Creator: TypeAlias = Callable[..., Env]

#: Arguments that `make` once had, and what does their work now.
_REMOVED = {
    "autoreset": "wrap the environment in wrappers.Autoreset",
    "apply_api_compatibility": "convert with utils.step_api_compatibility",
}

_UNDECLARED = object()


def make(
    id: str | EnvSpec,  # noqa: A002 - the public name of the argument
    max_episode_steps: int | None = None,
    disable_env_checker: bool | None = None,
    **kwargs: Any,
) -> Env:
    """Makes a registered environment with the wrappers that its spec asks for.

    From the inside out: `PassiveEnvChecker`, `OrderEnforcing`, `TimeLimit`, the spec's additional
    wrappers, and `RenderCollection` (or `HumanRendering`) if ``render_mode`` is a mode that the
    environment does not have but that such a wrapper makes from one it has.

    Args:
        id: An id (``"module:Name-v0"`` imports the module first) or a spec.
        max_episode_steps: The steps after which the episode is truncated, instead of the spec's;
            -1 for no limit.
        disable_env_checker: Whether to leave the checker out, instead of the spec's.
        **kwargs: Arguments for the environment, on top of the spec's.

    Raises:
        error.Error: The id is unknown or malformed; the subclass says which.
        TypeError: The environment does not take these arguments, or is not an `Env`.
        ValueError: A wrapper in the spec did not record its arguments.
    """
    spec = spec_of(id, "make", TypeError)
    for name in _REMOVED.keys() & kwargs.keys():
        raise TypeError(f"make no longer takes {name!r}: {_REMOVED[name]}")
    missing = f"{spec.id} has no entry_point; it can only be made with `make_vec`"
    creator = load_entry_point(spec.entry_point, missing)
    kwargs, render_wrapper = _plan_rendering(creator, deepcopy(spec.kwargs) | kwargs)
    env = _construct(spec, creator, kwargs, render_wrapper)
    # The bare environment's spec, which each wrapper extends for its own.
    env.unwrapped.spec = replace(
        spec,
        max_episode_steps=None,
        order_enforce=False,
        disable_env_checker=True,
        kwargs=kwargs,
        additional_wrappers=(),
    )
    remaining = _remaining_wrappers(env, spec)
    env = _add_standard_wrappers(env, spec, max_episode_steps, disable_env_checker)
    for wrapper in remaining:
        env = apply_wrapper(env, wrapper)
    return env if render_wrapper is None else render_wrapper(env)


def load_env_creator(name: str) -> Callable[..., Any]:
    """Imports and returns what ``"module:name"`` names."""
    import importlib

    module, attribute = name.split(":")
    return cast("Callable[..., Any]", getattr(importlib.import_module(module), attribute))


def load_entry_point(
    entry_point: Callable[..., Any] | str | None, missing: str
) -> Callable[..., Any]:
    """Returns the function that makes an environment, imported if it is given as ``"module:name"``.

    Raises:
        error.Error: There is none; ``missing`` is the message.
    """
    if entry_point is None:
        raise error.Error(missing)
    return load_env_creator(entry_point) if isinstance(entry_point, str) else entry_point


def apply_wrapper(
    env: Env, wrapper: WrapperSpec, resolve: Callable[[str], Creator] | None = None
) -> Env:
    """Wraps ``env`` as ``wrapper`` says.

    Args:
        env: The environment to wrap.
        wrapper: The wrapper's spec.
        resolve: Finds the class for an entry point. The default imports it; for specs from
            an untrusted source, pass a look-up in a table of allowed classes.

    Raises:
        ValueError: The wrapper did not record its arguments.
    """
    if wrapper.kwargs is None:
        raise ValueError(
            f"Cannot make the wrapper {wrapper.name} again: it did not record its arguments. "
            "Inherit from envwire.envs.utils.RecordConstructorArgs and call its constructor"
        )
    return (resolve or load_env_creator)(wrapper.entry_point)(env=env, **wrapper.kwargs)


def _plan_rendering(
    creator: Creator, kwargs: dict[str, Any]
) -> tuple[dict[str, Any], Callable[[Env], Env] | None]:
    """Chooses the environment's render mode, and the wrapper that makes the wanted one from it."""
    wanted, modes = kwargs.get("render_mode"), _render_modes(creator)
    if wanted is None or modes is None or wanted in modes:
        return kwargs, None
    rendered = next((mode for mode in ("rgb_array", "rgb_array_list") if mode in modes), None)
    if wanted == "human" and rendered is not None:
        logger.warn("The environment has no 'human' render mode; HumanRendering shows its frames.")
        return kwargs | {"render_mode": rendered}, wrappers.HumanRendering
    single = wanted.removesuffix("_list")
    if single != wanted and single in modes:
        return kwargs | {"render_mode": single}, wrappers.RenderCollection
    logger.warn(f"render_mode={wanted!r} is not one of the environment's render modes {modes}.")
    return kwargs, None


def _render_modes(creator: Creator) -> Collection[str] | None:
    """The render modes that an entry point declares; ``None`` if they are unknown."""
    metadata = getattr(creator, "metadata", _UNDECLARED)
    if metadata is _UNDECLARED or isinstance(metadata, property):
        return None  # functions declare none; a wrapper class has those of its env
    if not isinstance(metadata, dict):
        raise error.InvalidMetadata(f"An environment's metadata is a dict, got {type(metadata)}")
    modes = cast("dict[str, Any]", metadata).get("render_modes")
    if modes is None:
        logger.warn(f"The environment's metadata has no 'render_modes': {metadata}")
    elif not hasattr(modes, "__iter__"):
        logger.warn(f"The metadata's 'render_modes' should be a list, got {type(modes)}")
    return modes


def _construct(
    spec: EnvSpec, creator: Creator, kwargs: dict[str, Any], render_wrapper: object
) -> Env:
    try:
        env = creator(**kwargs)
    except TypeError as exc:
        if render_wrapper is wrappers.HumanRendering and "'render_mode'" in str(exc):
            raise error.Error(
                f"{spec.id} cannot be shown to a human: its constructor takes no render_mode ({exc})"
            ) from exc
        raise type(exc)(f"{exc}, while making {spec.id} with {', '.join(kwargs)}") from exc
    if not isinstance(env, Env):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(
            f"The entry point of {spec.id} must return an envwire.envs.Env, got {type(env)}; "
            "an environment of another library needs an adapter"
        )
    return env


def _remaining_wrappers(env: Env, spec: EnvSpec) -> tuple[WrapperSpec, ...]:
    """The spec's wrappers that the entry point has not put around the environment itself."""
    present = env.spec.additional_wrappers if env.spec is not None else ()
    expected = spec.additional_wrappers[: len(present)]
    if len(present) <= len(spec.additional_wrappers) and expected != present:
        raise ValueError(
            f"The entry point of {spec.id} wraps the environment in {present}, "
            f"but its spec says {expected}"
        )
    return spec.additional_wrappers[len(present) :]


def _add_standard_wrappers(
    env: Env, spec: EnvSpec, max_episode_steps: int | None, disable_env_checker: bool | None
) -> Env:
    if disable_env_checker is None:
        disable_env_checker = spec.disable_env_checker
    if max_episode_steps is None:
        max_episode_steps = spec.max_episode_steps
    if not disable_env_checker:
        env = wrappers.PassiveEnvChecker(env)
    if spec.order_enforce:
        env = wrappers.OrderEnforcing(env)
    if max_episode_steps not in (None, -1):
        env = wrappers.TimeLimit(env, max_episode_steps)
    return env


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
