"""The registry of environments: specs by id, and the errors for ids that are not registered."""

from __future__ import annotations

from collections.abc import Iterable

from envwire.envs import error, logger
from envwire.envs.specs import EnvSpec, get_env_id, parse_env_id

#: Every registered environment by its id. Filled by `register`, read by `make`.
registry: dict[str, EnvSpec] = {}


def versions(ns: str | None, name: str) -> list[EnvSpec]:
    """The registered specs of one name, the unversioned one first, then by version."""
    found = [spec for spec in registry.values() if (spec.namespace, spec.name) == (ns, name)]
    return sorted(found, key=lambda spec: -1 if spec.version is None else spec.version)


def find_highest_version(ns: str | None, name: str) -> int | None:
    """The highest version registered for a name; ``None`` if there is no versioned one."""
    return max((s.version for s in versions(ns, name) if s.version is not None), default=None)


def spec_of(env_id: str | EnvSpec, maker: str, refusal: type[Exception]) -> EnvSpec:
    """Returns the spec that ``maker`` was given, or the one that it uses for an id.

    An id without a version means the latest. An id ``"module:Name-v0"`` imports the module first.

    Raises:
        refusal: It is neither an id nor a spec.
        error.UnregisteredEnv: No such namespace, name or version.
        error.DeprecatedEnv: Only later versions are registered.
        ModuleNotFoundError: The module in the id does not exist.
    """
    if isinstance(env_id, EnvSpec):
        return env_id
    if not isinstance(env_id, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise refusal(f"{maker} takes an id (str) or an EnvSpec, got {type(env_id)}")
    module, _, env_id = env_id.rpartition(":")
    if module:
        _import_registrations(module)
    ns, name, version = parse_env_id(env_id)
    latest = find_highest_version(ns, name)
    if latest is not None:
        env_id = _prefer(latest, env_id, get_env_id(ns, name, latest), version)
    if env_id not in registry:
        raise explain(ns, name, version)
    return registry[env_id]


def _prefer(latest: int, env_id: str, latest_id: str, version: int | None) -> str:
    """Answers an unversioned id with the latest version, and warns about an older one."""
    if version is None:
        logger.warn(
            f"Using the latest versioned environment `{latest_id}` instead of the unversioned "
            f"environment `{env_id}`."
        )
        return latest_id
    if version < latest:
        logger.deprecation(
            f"The environment {env_id} is out of date. You should consider upgrading to version "
            f"`v{latest}`."
        )
    return env_id


def _import_registrations(module: str) -> None:
    import importlib

    try:
        importlib.import_module(module)
    except ModuleNotFoundError as exc:
        raise ModuleNotFoundError(
            f"{exc}. The part of the id before ':' names a module that registers environments when "
            f"it is imported; check that {module!r} is installed"
        ) from exc


def explain(ns: str | None, name: str, version: int | None) -> error.Error:
    """Returns the error for an id that is not registered: the outermost part that does not exist."""
    namespaces = {spec.namespace for spec in registry.values() if spec.namespace is not None}
    if ns is not None and ns not in namespaces:
        hint = _suggest(ns, namespaces) or f" Have you installed the proper package for {ns}?"
        return error.NamespaceNotFound(f"Namespace {ns} not found.{hint}")
    known = versions(ns, name)
    if not known:
        where = f" in namespace {ns}" if ns else ""
        names = {spec.name for spec in registry.values() if spec.namespace == ns}
        return error.NameNotFound(
            f"Environment `{name}` doesn't exist{where}.{_suggest(name, names)}"
        )
    return _explain_version(get_env_id(ns, name, None), version, known)


def _explain_version(full_name: str, version: int | None, known: list[EnvSpec]) -> error.Error:
    latest = known[-1]
    for spec in known:
        if version in (None, spec.version):  # only the spelling differs: no version, or "-v01"
            return error.Error(f"No registered env with exactly this id; did you mean {spec.id}?")
    if version is None or latest.version is None:
        return error.DeprecatedEnv(
            f"Environment version `v{version}` for environment `{full_name}` doesn't exist. "
            f"It provides the default version `{latest.id}`."
        )
    if version > latest.version:
        ids = ", ".join(f"`v{spec.version}`" for spec in known)
        return error.VersionNotFound(
            f"Environment version `v{version}` for environment `{full_name}` doesn't exist. "
            f"It provides versioned environments: [ {ids} ]."
        )
    return error.DeprecatedEnv(
        f"Environment version v{version} for `{full_name}` is deprecated. "
        f"Please use `{latest.id}` instead."
    )


def _suggest(word: str, known: Iterable[str]) -> str:
    import difflib

    close = difflib.get_close_matches(word, list(known), n=1)
    return f" Did you mean: `{close[0]}`?" if close else ""
