"""The error for an operator's id or pattern that matches no registered environment."""

from __future__ import annotations

from collections.abc import Sequence

from envwire.server._hosting.library import Library
from envwire.server._words import did_you_mean

#: What to install and import for ids with each prefix.
PACKAGES = {
    "ALE/": ("ale-py", "ale_py"),
    "MiniGrid-": ("minigrid", "minigrid"),
    "BabyAI-": ("minigrid", "minigrid"),
    "highway-": ("highway-env", "highway_env"),
    "Fetch": ("gymnasium-robotics", "gymnasium_robotics"),
    "MO-": ("mo-gymnasium", "mo_gymnasium"),
}
_GYMNASIUM = (
    ". Gymnasium, which has many more, is not installed here: pip install 'envwire[gymnasium]'"
)


def unmatched(pattern: str, libraries: Sequence[Library]) -> LookupError:
    """Returns the error for a pattern, with similar ids and the packages that may be missing."""
    known = sorted({env_id for library in libraries for env_id in library.specs()})
    names = [library.name for library in libraries]
    if not (advice := _package(pattern, known)):
        gymnasium = "" if "gymnasium" in names else _GYMNASIUM
        otherwise = f"register it in a module, and name that module with --import{gymnasium}"
        advice = did_you_mean(pattern, known, otherwise)
    return LookupError(f"no environment matches {pattern!r} in {', '.join(names)}; {advice}")


def _package(pattern: str, known: Sequence[str]) -> str:
    for prefix, (package, module) in PACKAGES.items():
        if pattern.startswith(prefix) and not any(each.startswith(prefix) for each in known):
            return f"these come with {package}: pip install {package}, and serve with --import {module}"
    return ""
