"""The error for an id that is not served: the class that a local `make` raises, with similar ids."""

from __future__ import annotations

import re
from collections.abc import Iterable

from envwire.codec import FaultError, Reason, RemoteExceptionInfo
from envwire.server._grammar import did_you_mean, enumerated

#: Longest part of an id that is split into namespace, name and version, in characters.
_MAX_SPLIT = 256
_LISTS = "`envwire list TARGET` shows what is"
_ID = re.compile(r"(?:(?P<namespace>.+)/)?(?P<name>[^/]+?)(?:-v(?P<version>\d+))?")


def unknown_environment(
    env_id: str, listed: Iterable[tuple[str, str]], library: str = ""
) -> FaultError:
    """Returns the fault for `env_id`.

    Args:
        env_id: What the client asked for.
        listed: The libraries and ids that are served.
        library: The library that the client asked for; empty for any.
    """
    listed = list(listed)
    served = sorted({known for name, known in listed if library in ("", name)})
    elsewhere = sorted({name for name, known in listed if known == env_id})
    hint = (
        f"ask for {enumerated(elsewhere, 'or')}"
        if elsewhere
        else did_you_mean(env_id, served, _LISTS)
    )
    place = f"of library {library!r} " if library else ""
    text = f"environment {env_id!r} {place}is not served here; {hint}"
    kind = f"gymnasium.error.{_error_name(env_id, served)}"
    return FaultError(
        Reason.UNKNOWN_ENVIRONMENT, text, exception=RemoteExceptionInfo(kind, text, (text,))
    )


def _error_name(env_id: str, served: list[str]) -> str:
    """Returns the class that Gymnasium's `make` would raise if its registry had only the served ids."""
    namespace, name, version = _parts(env_id)
    parts = [_parts(other) for other in served]
    if namespace and namespace not in {other for other, _, _ in parts}:
        return "NamespaceNotFound"
    versions = [of for where, other, of in parts if (where, other) == (namespace, name)]
    if not versions:
        return "NameNotFound"
    return "VersionNotFound" if version > max(versions) else "DeprecatedEnv"


def _parts(env_id: str) -> tuple[str, str, int]:
    """Returns namespace, name and version of an id; "" or -1 for a missing part."""
    match = _ID.fullmatch(env_id[:_MAX_SPLIT])
    if match is None:
        return "", env_id, -1
    namespace, name, version = match.group("namespace", "name", "version")
    return namespace or "", name, -1 if version is None else int(version)
