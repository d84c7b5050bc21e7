"""Envelopes: reads and changes the kind and session header of a message without parsing its content.

An InteractRequest holds one request, an InteractResponse one answer, each in the field that tells its kind. A request
of a session begins with its SessionHeader, field 1. It says whose the request is and is no part of what is asked:
a relay strips the header, and requests are compared and recorded without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from envwire.v1 import environment_pb2 as pb
from envwire.wire.varints import (
    LENGTH_DELIMITED,
    behind_length,
    fields,
    read_varint,
    tag,
    unwrap,
    varint,
    wrap,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEADER: Final = pb.StepRequest.DESCRIPTOR.fields_by_name["header"].number
#: First bytes of the answer to a chunk, whose warnings and steps stand in the place of an observation.
_CHUNK_TAGS: Final = tuple(
    tag(pb.StepResponse, name, LENGTH_DELIMITED) for name in ("warnings", "steps")
)
_HEADER_TAG: Final = tag(pb.StepRequest, "header", LENGTH_DELIMITED)
_ID_TAG: Final = tag(pb.SessionHeader, "session_id", LENGTH_DELIMITED)


class Envelope:
    """A kind of messages that hold one other message.

    Args:
        message: Its class. What it holds is of the kind that the field's name tells: "step", "error".
    """

    def __init__(self, message: type[pb.InteractRequest | pb.InteractResponse]) -> None:
        (oneof,) = message.DESCRIPTOR.oneofs
        self._numbers = {field.name: field.number for field in oneof.fields}
        self._kinds = {number: name for name, number in self._numbers.items()}
        #: By first bytes, where the number is not too large for one: looked at in each step.
        self._short = {
            wrap(number, b"")[:1]: name for name, number in self._numbers.items() if number < 16
        }

    def kind(self, message: bytes) -> str:
        """Returns of what kind the first part of a message is; "" for none that is known here."""
        kind = self._short.get(message[:1])
        return self._kinds.get(read_varint(message, 0)[0] >> 3, "") if kind is None else kind

    def kinds(self, message: bytes) -> Iterator[str]:
        """Yields the kinds of all parts of a message, of which the last counts; "" for one that is not known here.

        Raises:
            ValueError: This is not a message.
        """
        for key, *_ in fields(message):
            yield self._kinds.get(key >> 3, "")

    def wrap(self, kind: str, content: bytes) -> bytes:
        """Returns a message that holds another."""
        return wrap(self._numbers[kind], content)

    def holds_one(self, message: bytes) -> bool:
        """Tells whether a message holds one other and nothing else, which is not looked at."""
        if message[:1] in self._short:
            return behind_length(message) > 0
        key, index = read_varint(message, 0)
        length, start = read_varint(message, index)
        known = key >> 3 in self._kinds and key & 7 == LENGTH_DELIMITED
        return known and start > 0 and start + length == len(message)

    def unwrap(self, message: bytes) -> tuple[str, bytes]:
        """Returns the kind and the bytes of what a message holds.

        Raises:
            ValueError: It holds more, or nothing that is known here.
        """
        number, content = unwrap(message)
        if number not in self._kinds:
            raise ValueError(f"there is no field {number}")
        return self._kinds[number], content


REQUESTS: Final = Envelope(pb.InteractRequest)
RESPONSES: Final = Envelope(pb.InteractResponse)

STEP_REQUEST: Final = REQUESTS.wrap("step", b"")[0]
"""First byte of a step's request, for those who look at each: `Envelope.kind` takes six times as long."""
STEP_RESPONSE: Final = RESPONSES.wrap("step", b"")[0]
"""First byte of a step's answer."""


class Addressed(NamedTuple):
    """A request in two parts.

    Attributes:
        header: Its header, field 1 as it was sent.
        request: The InteractRequest without it.
    """

    header: bytes
    request: bytes

    @property
    def session_id(self) -> str:
        """The session's id; "" where the header begins with something else."""
        header = self.header
        start = read_varint(header, len(_HEADER_TAG))[1]
        if header[start : start + 1] != _ID_TAG:
            return ""
        size, start = read_varint(header, start + 1)
        return header[start : start + size].decode("ascii", "replace")

    def parse_header(self) -> pb.SessionHeader:
        """Returns the header as a message.

        Raises:
            DecodeError: It cannot be parsed.
        """
        return pb.SessionHeader.FromString(
            self.header[read_varint(self.header, len(_HEADER_TAG))[1] :]
        )


def answers_chunk(answer: bytes) -> bool:
    """Tells whether the answer to a Step, an InteractResponse, is that to a chunk of actions."""
    return answer.startswith(_CHUNK_TAGS, behind_length(answer))


def session_header(session_id: str, secret: bytes) -> bytes:
    """Returns the header of a session's requests as it stands in each of them, tag and length included."""
    header = pb.SessionHeader(session_id=session_id, secret=secret)
    return wrap(_HEADER, header.SerializeToString())


def with_header(request: bytes, header: bytes) -> bytes:
    """Returns an InteractRequest that begins with a header.

    Args:
        request: One without a header.
        header: From `session_header`; empty for none.
    """
    if not header:
        return request
    _, index = read_varint(request, 0)
    _, start = read_varint(request, index)
    size = varint(len(header) + len(request) - start)
    return b"".join((request[:index], size, header, request[start:]))


def locate_header(request: bytes) -> tuple[str, int, int]:
    """Returns the session id in a request's header, and where the header begins and ends, at a fraction of `detached`.

    This is right for a header from `session_header` that comes first in the only field, whose number is below 16, and
    means nothing for another one: whoever asks compares the bytes with the session's header.
    """
    start = behind_length(request)
    if not start or start + 4 > len(request):
        return "", 0, 0
    header_bytes, id_bytes = request[start + 1], request[start + 3]  # each behind its tag
    session_id = request[start + 4 : start + 4 + id_bytes].decode("ascii", "replace")
    return session_id, start, start + 2 + header_bytes


def cut_header(request: bytes, end: int) -> bytes:
    """Returns an InteractRequest without the header that `locate_header` found to end there."""
    return b"".join((request[:1], varint(len(request) - end), request[end:]))


def detached(request: bytes) -> Addressed | None:
    """Takes the header off an InteractRequest; None when it does not stand first in the only field of the message.

    Nothing else of the request is looked at: it may still be anything.
    """
    key, index = read_varint(request, 0)
    length, start = read_varint(request, index)
    if key & 7 != LENGTH_DELIMITED or start <= 0 or start + length != len(request):
        return None
    if request[start : start + 1] != _HEADER_TAG:
        return None
    size, begin = read_varint(request, start + 1)
    end = begin + size
    if not start < begin <= end <= len(request):
        return None
    bare = b"".join((request[:index], varint(len(request) - end), request[end:]))
    return Addressed(request[start:end], bare)


def without_header(request: bytes) -> bytes:
    """Returns an InteractRequest of a session without its header, wherever it stands.

    The bytes of two requests that differ in the header only are the same afterwards.

    Raises:
        DecodeError: It cannot be parsed.
    """
    if parts := detached(request):
        return parts.request
    message = pb.InteractRequest.FromString(request)
    getattr(message, message.WhichOneof("request") or "").ClearField("header")
    return message.SerializeToString()
