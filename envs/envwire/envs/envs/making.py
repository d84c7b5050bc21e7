"""Making an environment from its spec: construct it, then wrap it, innermost wrapper first."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from envwire.envs import error, logger
from envwire.envs.core import Env
from envwire.envs.envs.entry_points import load_entry_point, load_env_creator
from envwire.envs.envs.registry import spec_of
from envwire.envs.specs import EnvSpec, WrapperSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    AnyEnv: TypeAlias = Env
    Creator: TypeAlias = Callable[..., AnyEnv]

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
    _refuse_removed(kwargs)
    creator = load_entry_point(spec)
    kwargs, add_render_wrapper = _plan_rendering(creator, _merge(spec.kwargs, kwargs))
    env = _construct(spec, creator, kwargs, human=add_render_wrapper is _add_human_rendering)
    _record(env, spec, kwargs)
    remaining = _remaining_wrappers(env, spec)
    env = _add_standard_wrappers(env, spec, max_episode_steps, disable_env_checker)
    for wrapper in remaining:
        env = apply_wrapper(env, wrapper)
    return add_render_wrapper(env)


def apply_wrapper(
    env: AnyEnv, wrapper: WrapperSpec, resolve: Callable[[str], Creator] | None = None
) -> AnyEnv:
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


def _refuse_removed(kwargs: dict[str, Any]) -> None:
    for name in _REMOVED.keys() & kwargs.keys():
        raise TypeError(f"make no longer takes {name!r}: {_REMOVED[name]}")


def _merge(spec_kwargs: dict[str, Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    if not spec_kwargs:
        return dict(kwargs)
    from copy import deepcopy

    return deepcopy(spec_kwargs) | kwargs


def _plan_rendering(
    creator: Creator, kwargs: dict[str, Any]
) -> tuple[dict[str, Any], Callable[[AnyEnv], AnyEnv]]:
    """Chooses the environment's render mode and the wrapper that makes the wanted one from it."""
    wanted, modes = kwargs.get("render_mode"), _render_modes(creator)
    if wanted is None or modes is None or wanted in modes:
        return kwargs, _unchanged
    rendered = next((mode for mode in ("rgb_array", "rgb_array_list") if mode in modes), None)
    if wanted == "human" and rendered is not None:
        logger.warn("The environment has no 'human' render mode; HumanRendering shows its frames.")
        return kwargs | {"render_mode": rendered}, _add_human_rendering
    single = wanted.removesuffix("_list")
    if single != wanted and single in modes:
        return kwargs | {"render_mode": single}, _add_render_collection
    logger.warn(f"render_mode={wanted!r} is not one of the environment's render modes {modes}.")
    return kwargs, _unchanged


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


def _unchanged(env: AnyEnv) -> AnyEnv:
    return env


def _add_human_rendering(env: AnyEnv) -> AnyEnv:
    from envwire.envs.wrappers.rendering import HumanRendering

    return HumanRendering(env)


def _add_render_collection(env: AnyEnv) -> AnyEnv:
    from envwire.envs.wrappers.rendering import RenderCollection

    return RenderCollection(env)


def _construct(spec: EnvSpec, creator: Creator, kwargs: dict[str, Any], human: bool) -> AnyEnv:
    try:
        env = creator(**kwargs)
    except TypeError as exc:
        if human and "'render_mode'" in str(exc):
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


def _record(env: AnyEnv, spec: EnvSpec, kwargs: dict[str, Any]) -> None:
    """Sets the bare environment's spec, which each wrapper extends for its own."""
    env.unwrapped.spec = replace(
        spec,
        max_episode_steps=None,
        order_enforce=False,
        disable_env_checker=True,
        kwargs=kwargs,
        additional_wrappers=(),
    )


def _remaining_wrappers(env: AnyEnv, spec: EnvSpec) -> tuple[WrapperSpec, ...]:
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
    env: AnyEnv, spec: EnvSpec, max_episode_steps: int | None, disable_env_checker: bool | None
) -> AnyEnv:
    from envwire.envs.wrappers.common import OrderEnforcing, PassiveEnvChecker, TimeLimit

    if disable_env_checker is None:
        disable_env_checker = spec.disable_env_checker
    if max_episode_steps is None:
        max_episode_steps = spec.max_episode_steps
    if not disable_env_checker:
        env = PassiveEnvChecker(env)
    if spec.order_enforce:
        env = OrderEnforcing(env)
    if max_episode_steps not in (None, -1):
        env = TimeLimit(env, max_episode_steps)
    return env
