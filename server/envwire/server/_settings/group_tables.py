"""Settings of groups of environments: which ones a group may have, and their defaults."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from envwire.server._settings.setting import PerGroup, Setting, check_known

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def own_defaults(settings: Mapping[str, Setting]) -> dict[str, Any]:
    """Returns the defaults of the settings that a group does not inherit from its server."""
    return {
        name: setting.default
        for name, setting in settings.items()
        if setting.about.per_group is PerGroup.OWN
    }


def check_group(name: str, table: Iterable[str], settings: Mapping[str, Setting]) -> None:
    """Checks a group's name and the names of its settings.

    Raises:
        ValueError: The group has an invalid name, no environments, or a setting that is unknown or only the server's.
    """
    if not _NAME.fullmatch(name):
        raise ValueError("a group's name is 1 to 64 letters, digits, - and _")
    check_known(table, settings)
    possible = [key for key, each in settings.items() if each.about.per_group is not PerGroup.NO]
    for key in table:
        if key not in possible:
            raise ValueError(
                f"{key} is a setting of the whole server; a group can have {', '.join(possible)}"
            )
    if "environments" not in table:
        raise ValueError("name its environments: environments = ['CartPole-v1']")
