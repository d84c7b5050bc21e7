"""Functions to register environments and to look up what is registered."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from types import ModuleType
from typing import Any, Protocol

from envwire.envs import error, logger, vector
from envwire.envs.core import Env
from envwire.envs.envs.making import VectorizeMode, load_env_creator, make, make_vec
from envwire.envs.envs.registry import explain, find_highest_version, registry, versions
from envwire.envs.specs import EnvSpec, WrapperSpec, get_env_id, parse_env_id

__all__ = [
    "EnvCreator",
    "EnvSpec",
    "VectorEnvCreator",
    "VectorizeMode",
    "WrapperSpec",
    "current_namespace",
    "find_highest_version",
    "get_env_id",
    "load_env_creator",
    "make",
    "make_vec",
    "namespace",
    "parse_env_id",
    "pprint_registry",
    "register",
    "register_envs",
    "registry",
    "spec",
]

#: The namespace that `register` gives to ids; set by `namespace`.
current_namespace: str | None = None


class EnvCreator(Protocol):
    """A function (or class) that makes an environment."""

    def __call__(self, **kwargs: Any) -> Env:
        """Makes one; the spec's kwargs and those of `make` are passed by name."""
        ...


class VectorEnvCreator(Protocol):
    """A function (or class) that makes a vector environment."""

    def __call__(self, **kwargs: Any) -> vector.VectorEnv:
        """Makes one; ``num_envs`` is among the arguments."""
        ...


def register(
    id: str,  # noqa: A002 - the public name of the argument
    entry_point: EnvCreator | str | None = None,
    reward_threshold: float | None = None,
    nondeterministic: bool = False,
    max_episode_steps: int | None = None,
    order_enforce: bool = True,
    disable_env_checker: bool = False,
    additional_wrappers: tuple[WrapperSpec, ...] = (),
    vector_entry_point: VectorEnvCreator | str | None = None,
    kwargs: dict[str, Any] | None = None,
) -> None:
    """Registers an environment, so that ``make(id)`` makes it. `EnvSpec` explains the arguments.

    Raises:
        ValueError: There is neither an entry point nor a vector entry point.
        error.Error: The id is malformed.
        error.RegistrationError: The name is registered without a version and this id has one, or
            the other way round.
    """
    if entry_point is None and vector_entry_point is None:
        raise ValueError(f"{id!r} needs an entry_point, a vector_entry_point, or both")
    new_spec = EnvSpec(
        id=_in_current_namespace(id),
        entry_point=entry_point,
        reward_threshold=reward_threshold,
        nondeterministic=nondeterministic,
        max_episode_steps=max_episode_steps,
        order_enforce=order_enforce,
        disable_env_checker=disable_env_checker,
        kwargs={} if kwargs is None else kwargs,
        additional_wrappers=additional_wrappers,
        vector_entry_point=vector_entry_point,
    )
    _refuse_mixed_versioning(new_spec)
    if new_spec.id in registry:
        logger.warn(f"Overriding environment {new_spec.id} already in registry.")
    registry[new_spec.id] = new_spec


def _in_current_namespace(env_id: str) -> str:
    ns, name, version = parse_env_id(env_id)
    if current_namespace is None:
        return env_id
    if ns not in (None, current_namespace):
        logger.warn(
            f"The namespace of {env_id!r} is replaced by {current_namespace!r}; "
            "leave it out where a namespace is in force"
        )
    return get_env_id(current_namespace, name, version)


def _refuse_mixed_versioning(new_spec: EnvSpec) -> None:
    kinds = {True: "unversioned", False: "versioned"}
    new = new_spec.version is None
    for known in reversed(versions(new_spec.namespace, new_spec.name)):
        if (known.version is None) is not new:
            raise error.RegistrationError(
                f"Can't register the {kinds[new]} environment `{new_spec.id}` when the "
                f"{kinds[not new]} environment `{known.id}` of the same name already exists: with "
                "versions, `make` without one makes the latest"
            )


def register_envs(env_module: ModuleType) -> None:
    """Does nothing: it tells readers and linters that a module is imported to register environments."""
    del env_module


@contextlib.contextmanager
def namespace(ns: str) -> Generator[None, None, None]:
    """Puts ids registered inside the ``with`` block into the namespace ``ns``."""
    global current_namespace  # noqa: PLW0603 - registration is global, and so is its namespace
    previous, current_namespace = current_namespace, ns
    try:
        yield
    finally:
        current_namespace = previous


def spec(env_id: str) -> EnvSpec:
    """Returns the spec registered under ``env_id``.

    Raises:
        error.UnregisteredEnv: No such namespace, name or version.
        error.DeprecatedEnv: Only later versions are registered.
        error.Error: The id is malformed, or lacks the version that is registered.
    """
    if env_id not in registry:
        raise explain(*parse_env_id(env_id))
    return registry[env_id]


def pprint_registry(
    print_registry: dict[str, EnvSpec] = registry,
    *,
    num_cols: int = 3,
    exclude_namespaces: list[str] | None = None,
    disable_print: bool = False,
) -> str | None:
    """Prints the registered ids in columns, grouped by namespace or defining package.

    Args:
        print_registry: The specs to show.
        num_cols: The number of columns.
        exclude_namespaces: Groups to leave out.
        disable_print: Return the text instead of printing it.
    """
    groups: dict[str, list[str]] = {}
    for env_spec in print_registry.values():
        groups.setdefault(_group(env_spec), []).append(env_spec.id)
    width = max((len(env_spec.name) for env_spec in print_registry.values()), default=0)
    text = "\n".join(
        f"===== {group} =====\n{_columns(sorted(ids), num_cols, width)}"
        for group, ids in groups.items()
        if group not in (exclude_namespaces or ())
    )
    if disable_print:
        return text
    print(text)
    return None


def _group(env_spec: EnvSpec) -> str:
    """The namespace of an id, or else the package that its entry point is in."""
    if env_spec.namespace is not None:
        return env_spec.namespace
    if not isinstance(env_spec.entry_point, str):
        return str(None)
    module = env_spec.entry_point.partition(":")[0].removeprefix("envwire.")
    parts = module.split(".")
    return parts[min(2, len(parts) - 1)] if len(parts) > 1 else env_spec.name


def _columns(words: list[str], count: int, width: int) -> str:
    rows = (words[start : start + count] for start in range(0, len(words), count))
    return "\n".join(" ".join(word.ljust(width) for word in row).rstrip(" ") for row in rows)
