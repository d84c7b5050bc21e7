r"""Standard output and error of a program that shows text of environments, servers and clients.

Control characters in everything that is written are shown as `\u001b`, so that no such text controls the operator's
terminal: neither by the command line, nor by the log of a server. A terminal gets colours. What a program draws
itself, with the cursor, goes to `drawing`.
"""

from __future__ import annotations

import codecs
import io
import re
import sys
from typing import Any, TextIO, cast

#: Control characters except line ends and tabs (C0, DEL, C1), and those that change the order in which text is shown.
_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
_CONTROL = re.compile(f"[{_CONTROLS}]")
#: A colour or another attribute of characters (SGR), or a control character.
_COLOUR_OR_CONTROL = re.compile(rf"(\x1b\[[0-9;:]*m)|[{_CONTROLS}]")
_RESET = "\x1b[0m"


def escaped(text: str) -> str:
    r"""Returns text in which control characters are escaped as in JSON, `\u001b`; line ends and tabs stay.

    A JSON document stays one with the same content.
    """
    return _CONTROL.sub(_escape, text)


def escaped_except_colours(text: str) -> str:
    """Returns text in which all control characters but those of colours are escaped; colours end with the text."""
    last = ""

    def escape(found: re.Match[str]) -> str:
        nonlocal last
        if found[1] is None:
            return _escape(found)
        last = found[1]
        return last

    shown = _COLOUR_OR_CONTROL.sub(escape, text)
    return shown if last in {"", _RESET, "\x1b[m"} else shown + _RESET


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


class OutputClosedError(BrokenPipeError):
    """What reads the output of the program has ended, as in `| head -1`."""


class GuardedStream(io.TextIOWrapper):
    """A standard stream that escapes control characters, in place of another one, which can no longer be used.

    Characters that the encoding lacks become question marks instead of ending the program.

    Args:
        stream: The other stream.
    """

    def __init__(self, stream: io.TextIOWrapper) -> None:
        self.shown_encoding = stream.encoding
        self._ascii = codecs.lookup(stream.encoding).name == "ascii"
        super().__init__(
            stream.detach(),
            # Click would write past a stream that says ASCII, to its buffer.
            encoding="utf-8" if self._ascii else self.shown_encoding,
            errors="replace",
            line_buffering=stream.line_buffering,
            write_through=stream.write_through,
        )

    def write(self, text: str, /) -> int:
        """Writes text with its control characters escaped."""
        self.draw(escaped_except_colours(text) if self.isatty() else escaped(text))
        return len(text)

    def draw(self, text: str) -> None:
        """Writes text as it is."""
        if self._ascii:
            text = text.encode("ascii", "replace").decode("ascii")
        try:
            super().write(text)
        except BrokenPipeError as error:
            raise OutputClosedError(*error.args) from None

    def flush(self) -> None:
        """Writes what is buffered."""
        try:
            super().flush()
        except BrokenPipeError as error:
            raise OutputClosedError(*error.args) from None


def guard_output() -> None:
    """Makes standard output and error escape control characters, for as long as the program runs."""
    for name in ("stdout", "stderr"):
        stream: Any = getattr(sys, name)
        if hasattr(stream, "buffer") and not isinstance(stream, GuardedStream):
            guarded = GuardedStream(stream)
            setattr(sys, name, guarded)
            setattr(sys, f"__{name}__", guarded)  # `shutil` asks it for the size of the terminal


class _Drawing:
    """A file whose control characters reach the terminal.

    Args:
        stream: Standard output or error.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.write = getattr(stream, "draw", stream.write)
        self.encoding = getattr(stream, "shown_encoding", stream.encoding)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def drawing(stream: TextIO) -> TextIO:
    """Returns a file for what this program draws on standard output or error, which holds no text of others."""
    return cast("TextIO", _Drawing(stream))


__all__ = [
    "GuardedStream",
    "OutputClosedError",
    "drawing",
    "escaped",
    "escaped_except_colours",
    "guard_output",
]
