"""Environment ids: ``[namespace/]name[-vN]``, parsed and formatted."""

from __future__ import annotations

import re

from envwire.envs import error

_ENV_ID = re.compile(r"(?:(?P<namespace>[\w:-]+)/)?(?P<name>[\w:.-]+?)(?:-v(?P<version>\d+))?")


def parse_env_id(env_id: str) -> tuple[str | None, str, int | None]:
    """Returns the namespace, name and version of ``env_id``; ``None`` for a part it does not have.

    Raises:
        error.Error: The id does not have the form ``[namespace/]name[-vN]``.
    """
    match = _ENV_ID.fullmatch(env_id)
    if match is None:
        raise error.Error(
            f"Malformed environment ID: {env_id}. Expected [namespace/]name[-vN], "
            "of letters, digits, '_', ':', '.' and '-'"
        )
    namespace, name, version = match.group("namespace", "name", "version")
    return namespace, name, None if version is None else int(version)


def get_env_id(ns: str | None, name: str, version: int | None) -> str:
    """Returns the id with these parts; the inverse of `parse_env_id`."""
    prefix = "" if ns is None else f"{ns}/"
    suffix = "" if version is None else f"-v{version}"
    return f"{prefix}{name}{suffix}"
