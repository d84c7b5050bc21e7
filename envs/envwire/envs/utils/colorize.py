"""Colours text with ANSI escape sequences."""

from collections.abc import Mapping
from typing import Final

#: Foreground codes by name; a background code is ten higher.
color2num: Final[Mapping[str, int]] = {
    "gray": 30,
    "red": 31,
    "green": 32,
    "yellow": 33,
    "blue": 34,
    "magenta": 35,
    "cyan": 36,
    "white": 37,
    "crimson": 38,
}


def colorize(string: str, color: str, bold: bool = False, highlight: bool = False) -> str:
    """Returns ``string`` between the escape codes that colour it and the one that resets.

    Args:
        string: The text to colour.
        color: A key of `color2num`.
        bold: Whether the text is bold.
        highlight: Whether ``color`` is the background instead of the foreground.

    Raises:
        KeyError: ``color`` is not a known name.
    """
    code = str(color2num[color] + 10 * highlight)
    return f"\x1b[{code}{';1' * bold}m{string}\x1b[0m"
