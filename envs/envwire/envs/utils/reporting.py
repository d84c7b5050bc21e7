"""How checkers report: an `AssertionError` for violations, a warning for questionable choices."""

from __future__ import annotations

from typing import Any

from envwire.envs import logger


def require(condition: Any, message: str) -> None:
    """Raises `AssertionError` unless the condition holds."""
    if not condition:
        raise AssertionError(message)


def warn_unless(condition: Any, message: str) -> None:
    """Warns, on behalf of the function that called the check, unless the condition holds."""
    if not condition:
        logger.warn("%s", message, stacklevel=3)
