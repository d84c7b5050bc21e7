"""A trace of what was sent and received, for the report of a failed check."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from google.protobuf.message import Message

from envwire.conformance.protojson import to_json

#: Most lines in a report, and most characters in a line.
_LINES, _CHARACTERS = 6, 1000
#: Largest message that is kept. Those of a server whose answers had 200 MB took 4 GB, as JSON.
_MAX_BYTES = 2**20


def one_line(text: str) -> str:
    """Returns the beginning of a text that a server or a client sent, as a line that a terminal can show."""
    shown = "".join(each if each.isprintable() else " " for each in text[:_CHARACTERS])
    return shown if len(text) <= _CHARACTERS else f"{shown} ... {len(text)} characters"


@dataclass
class Trace:
    """The last messages of a check, oldest first."""

    _kept: deque[tuple[str, Message | str]] = field(
        default_factory=lambda: deque[tuple[str, Message | str]](maxlen=_LINES)
    )

    def sent(self, link: str, message: Message | str) -> None:
        """Records a message that was sent on a link."""
        self._keep(f"sent ({link})", message)

    def received(self, link: str, message: Message | str) -> None:
        """Records a message that was received on a link."""
        self._keep(f"received ({link})", message)

    def _keep(self, what: str, message: Message | str) -> None:
        if isinstance(message, str):
            message = one_line(message)
        elif (size := message.ByteSize()) > _MAX_BYTES:
            message = f"a {type(message).__name__} of {size} bytes"
        self._kept.append((what, message))

    def lines(self) -> list[str]:
        """Returns a line for each message, as ProtoJSON."""
        return [f"{what}: {_text(message)}" for what, message in self._kept]


def _text(message: Message | str) -> str:
    return message if isinstance(message, str) else one_line(to_json(message))
