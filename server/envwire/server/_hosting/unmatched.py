"""The error for an operator's id or pattern that matches no registered environment."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from envwire.server._hosting.library import Library

#: What to install and import for ids with each prefix.
PACKAGES = {
    "ALE/": ("ale-py", "ale_py"),
    "MiniGrid-": ("minigrid", "minigrid"),
    "BabyAI-": ("minigrid", "minigrid"),
    "highway-": ("highway-env", "highway_env"),
    "Fetch": ("gymnasium-robotics", "gymnasium_robotics"),
    "MO-": ("mo-gymnasium", "mo_gymnasium"),
}


def unmatched(pattern: str, libraries: Sequence[Library]) -> LookupError:
    """Returns the error for a pattern, with similar ids and the packages that may be missing."""
    known = sorted({env_id for library in libraries for env_id in library.specs()})
    names = [library.name for library in libraries]
    advice = _package(pattern, known) or _similar(pattern, known) or _advice(names)
    return LookupError(f"no environment matches {pattern!r} in {', '.join(names)}; {advice}")


def _package(pattern: str, known: Sequence[str]) -> str:
    for prefix, (package, module) in PACKAGES.items():
        if pattern.startswith(prefix) and not any(each.startswith(prefix) for each in known):
            return f"these come with {package}: pip install {package}, and serve with --import {module}"
    return ""


def _similar(pattern: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(pattern, known, n=3)
    return f"did you mean {' or '.join(near)}?" if near else ""


def _advice(names: Sequence[str]) -> str:
    gymnasium = "" if "gymnasium" in names else _GYMNASIUM
    return f"register it in a module, and name that module with --import{gymnasium}"


_GYMNASIUM = (
    ". Gymnasium, which has many more, is not installed here: pip install 'envwire[gymnasium]'"
)
