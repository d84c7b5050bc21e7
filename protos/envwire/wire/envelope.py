"""Envelopes: reads and changes the kind and session header of a message without parsing its content.

An InteractRequest holds one request, an InteractResponse one answer; the field in which it is tells its kind. A request
of a session begins with its SessionHeader, field 1. The header identifies the session and is not part of the request's
content: a relay strips it, and requests are compared and recorded without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from envwire.v1 import environment_pb2 as pb
from envwire.wire.varints import content_start, fields, only_field, read_varint, tag, varint, wrap

_HEADER: Final = pb.StepRequest.DESCRIPTOR.fields_by_name["header"].number
#: First bytes of the answer to a chunk, whose warnings and steps stand in the place of an observation.
_CHUNK_TAGS: Final = tuple(tag(pb.StepResponse, name) for name in ("warnings", "steps"))
_HEADER_TAG: Final = tag(pb.StepRequest, "header")


class Envelope:
    """A class of messages that hold one other message.

    Args:
        message: The class. The kind of the message inside is the name of its field, such as "step" or "error".
    """

    def __init__(self, message: type[pb.InteractRequest | pb.InteractResponse]) -> None:
        (oneof,) = message.DESCRIPTOR.oneofs
        self._numbers = {field.name: field.number for field in oneof.fields}
        self._kinds = {number: name for name, number in self._numbers.items()}
        #: Kinds by first byte, for field numbers below 16; every step looks here.
        self._short = {
            wrap(number, b"")[:1]: name for name, number in self._numbers.items() if number < 16
        }

    def kind(self, message: bytes) -> str:
        """Returns the kind of the first field of a message; "" if it is unknown."""
        kind = self._short.get(message[:1])
        return self._kinds.get(read_varint(message, 0)[0] >> 3, "") if kind is None else kind

    def kinds(self, message: bytes) -> Iterator[str]:
        """Yields the kinds of all fields of a message, of which the last one counts; "" for an unknown one.

        Raises:
            ValueError: It cannot be parsed.
        """
        for key, *_ in fields(message):
            yield self._kinds.get(key >> 3, "")

    def wrap(self, kind: str, content: bytes) -> bytes:
        """Returns a message with `content` in the field of a kind."""
        return wrap(self._numbers[kind], content)

    def holds_one(self, message: bytes) -> bool:
        """Returns whether a message holds exactly one other message, whose content is not checked."""
        if message[:1] in self._short:
            return content_start(message) > 0
        return only_field(message)[0] in self._kinds

    def unwrap(self, message: bytes) -> tuple[str, bytes]:
        """Returns the kind and the bytes of the message inside.

        Raises:
            ValueError: The message holds more than one field, or an unknown one.
        """
        number, start = only_field(message)
        if not start:
            raise ValueError("not a message with one embedded message")
        if number not in self._kinds:
            raise ValueError(f"there is no field {number}")
        return self._kinds[number], message[start:]


REQUESTS: Final = Envelope(pb.InteractRequest)
RESPONSES: Final = Envelope(pb.InteractResponse)

STEP_REQUEST: Final = REQUESTS.wrap("step", b"")[0]
"""First byte of a step's request, for checks at every step: `Envelope.kind` takes six times as long."""
STEP_RESPONSE: Final = RESPONSES.wrap("step", b"")[0]
"""First byte of a step's answer."""


class Addressed(NamedTuple):
    """A request, split into its header and the rest.

    Attributes:
        header: Its header: field 1 as sent, with tag and length.
        request: The InteractRequest without the header.
    """

    header: bytes
    request: bytes

    def parse_header(self) -> pb.SessionHeader:
        """Returns the header as a message.

        Raises:
            DecodeError: It cannot be parsed.
        """
        start = read_varint(self.header, len(_HEADER_TAG))[1]
        return pb.SessionHeader.FromString(self.header[start:])


def answers_chunk(answer: bytes) -> bool:
    """Returns whether an InteractResponse to a Step answers a chunk of actions."""
    return answer.startswith(_CHUNK_TAGS, content_start(answer))


def session_header(session_id: str, secret: bytes) -> bytes:
    """Returns the header that each request of a session contains, with tag and length."""
    header = pb.SessionHeader(session_id=session_id, secret=secret)
    return wrap(_HEADER, header.SerializeToString())


def with_header(request: bytes, header: bytes) -> bytes:
    """Inserts a header into an InteractRequest.

    Args:
        request: The InteractRequest, without a header.
        header: From `session_header`; empty for none.
    """
    if not header:
        return request
    index = 1 if request[0] < 0x80 else read_varint(request, 0)[1]
    _, start = read_varint(request, index)
    size = varint(len(header) + len(request) - start)
    return b"".join((request[:index], size, header, request[start:]))


def locate_header(request: bytes) -> tuple[str, int, int]:
    """Returns the session id in a request's header, and where that begins and ends; much faster than `split_header`.

    The result is correct only for a header from `session_header` that comes first in the request's only field, whose
    number is below 16. The caller has to compare the bytes with the session's header.
    """
    start = content_start(request)
    if not start or start + 4 > len(request):
        return "", 0, 0
    header_bytes, id_bytes = request[start + 1], request[start + 3]  # lengths, each after its tag
    session_id = request[start + 4 : start + 4 + id_bytes].decode("ascii", "replace")
    return session_id, start, start + 2 + header_bytes


def drop_header(request: bytes, end: int) -> bytes:
    """Returns an InteractRequest without the header; `end` is where `locate_header` found it to end."""
    return b"".join((request[:1], varint(len(request) - end), request[end:]))


def split_header(request: bytes) -> Addressed | None:
    """Splits off the header of an InteractRequest; returns None unless it comes first in the message's only field.

    The rest of the request is not checked.
    """
    number, start = only_field(request)
    if not start or request[start : start + 1] != _HEADER_TAG:
        return None
    size, begin = read_varint(request, start + 1)
    end = begin + size
    if not start < begin <= end <= len(request):
        return None
    return Addressed(request[start:end], wrap(number, request[end:]))


def without_header(request: bytes) -> bytes:
    """Returns an InteractRequest of a session without its header, wherever that is.

    Two requests that differ only in the header give the same bytes.

    Raises:
        DecodeError: It cannot be parsed.
    """
    if parts := split_header(request):
        return parts.request
    message = pb.InteractRequest.FromString(request)
    getattr(message, message.WhichOneof("request") or "").ClearField("header")
    return message.SerializeToString()
