"""The settings of a server as environment variables, for servers that run in containers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import cast

from envwire.server._settings.checks import KINDS, FilePath
from envwire.server.config import SETTINGS, ServerConfig

#: Settings that name a file. Containers have files of their own.
FILES = frozenset(name for name, setting in SETTINGS.items() if setting.kind is KINDS[FilePath])


def changed_settings(config: ServerConfig) -> dict[str, object]:
    """Returns the settings that differ from their defaults, and the environments."""
    values = {name: getattr(config, name) for name in SETTINGS}
    changed = {name: value for name, value in values.items() if value != SETTINGS[name].default}
    return {**changed, "environments": config.environments}


def variables(settings: Mapping[str, object]) -> dict[str, str]:
    """Returns the environment variables that give a server its settings."""
    return {SETTINGS[name].variable: _text(value) for name, value in settings.items()}


def _text(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return " ".join(cast("Sequence[str]", value))
    if isinstance(value, Mapping):
        return json.dumps(value)
    return str(value).lower() if isinstance(value, bool) else str(value)
