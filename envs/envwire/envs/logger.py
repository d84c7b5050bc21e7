"""Warnings to the user, coloured, and silenced by `set_level` or by `min_level`; and how checkers report.

A check raises `AssertionError` for violations, and warns of questionable choices.
"""

from __future__ import annotations

import warnings
from typing import Any

from envwire.envs.utils.colorize import colorize

DEBUG = 10
INFO = 20
WARN = 30
ERROR = 40
DISABLED = 50

#: Messages below this level are dropped.
min_level = WARN

# Python shows a DeprecationWarning only where `__main__` raised it; users should see ours, once.
warnings.filterwarnings("once", "", DeprecationWarning, module=r"^envwire\.envs\.")


def set_level(level: int) -> None:
    """Drops the messages below ``level`` from now on."""
    global min_level  # noqa: PLW0603 - the level is this module's one piece of state
    min_level = level


def warn(
    msg: str, *args: object, category: type[Warning] | None = None, stacklevel: int = 1
) -> None:
    """Warns the user, unless `min_level` is above `WARN`.

    Args:
        msg: The message, with ``%`` placeholders for ``args``.
        *args: The values of the placeholders.
        category: The class of the warning, `UserWarning` by default.
        stacklevel: Which caller the warning points at; 1 is the caller of this function.
    """
    if min_level <= WARN:
        text = colorize(f"WARN: {_fill(msg, args)}", "yellow")
        warnings.warn(text, category=category, stacklevel=stacklevel + 1)


def deprecation(msg: str, *args: object) -> None:
    """Warns, with a `DeprecationWarning`, that something is going to be removed."""
    warn(msg, *args, category=DeprecationWarning, stacklevel=2)


def error(msg: str, *args: object) -> None:
    """Reports an error that does not stop the program, unless `min_level` is above `ERROR`."""
    if min_level <= ERROR:
        warnings.warn(colorize(f"ERROR: {_fill(msg, args)}", "red"), stacklevel=3)


def _fill(msg: str, args: tuple[object, ...]) -> str:
    """Fills the placeholders; without values a ``%`` is just a character."""
    return msg % args if args else msg


def require(condition: Any, message: str) -> None:
    """Raises `AssertionError` unless the condition holds."""
    if not condition:
        raise AssertionError(message)


def warn_unless(condition: Any, message: str) -> None:
    """Warns, on behalf of the function that called the check, unless the condition holds."""
    if not condition:
        warn("%s", message, stacklevel=3)
