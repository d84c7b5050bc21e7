"""Removes the values that the operator named from recordings: of mappings, attributes and method arguments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from envwire.codec.nested import nested
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import values_pb2

if TYPE_CHECKING:
    from google.protobuf.message import Message

#: Replaces a redacted value.
REDACTED = "[redacted]"
#: Requests that name an attribute or a method, with the fields that hold its value or arguments.
_NAMING = {"get_attribute": (), "set_attribute": ("value",), "call_method": ("args", "kwargs")}
#: The same requests with the field of their response that holds the value.
_ANSWERING = {"get_attribute": "value", "call_method": "result"}


class Redaction:
    """Names whose values are never recorded, in keyword arguments, options, infos or observations.

    The texts of errors and warnings are not searched.

    Args:
        patterns: Names, or patterns of names such as "*_key".
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        self.patterns = tuple(patterns)
        self._named = False

    def make(self, request: pb.MakeRequest, made: pb.MakeResponse) -> None:
        """Redacts a Make and its answer; how the environment describes itself may contain any value."""
        for message in (request, made):
            self._redact(message)
        if self.patterns and made.description:
            made.description = REDACTED

    def request(self, raw: bytes) -> bytes:
        """Returns a request with redacted values."""
        request = pb.InteractRequest.FromString(raw)
        kind = request.WhichOneof("request") or ""
        body: Any = getattr(request, kind, None)
        self._named = kind in _NAMING and self._matches(body.name)
        if self._named:
            for field in _NAMING[kind]:
                body.ClearField(field)
        self._redact(request)
        return request.SerializeToString()

    def response(self, raw: bytes) -> bytes:
        """Returns the response to the last request with redacted values."""
        response = pb.InteractResponse.FromString(raw)
        kind = response.WhichOneof("response") or ""
        if self._named and kind in _ANSWERING:
            body: Any = getattr(response, kind)
            getattr(body, _ANSWERING[kind]).string_value = REDACTED
        self._redact(response)
        return response.SerializeToString()

    def _matches(self, name: str) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in self.patterns)

    def _redact(self, message: Message) -> None:
        """Redacts values in all mappings of a message."""
        if isinstance(message, values_pb2.ValueEntry) and any(map(self._matches, _names(message))):
            message.value.string_value = REDACTED
            return
        for child in nested(message):
            self._redact(child)


def _names(entry: values_pb2.ValueEntry) -> Iterator[str]:
    """Yields the key of an item if it is a text, and all texts and bytes in a key that is none."""
    if entry.WhichOneof("key") == "name":
        yield entry.name
        return
    values: list[Message] = [entry.other]
    while values:
        value = values.pop()
        if isinstance(value, values_pb2.Value):
            yield value.string_value
            yield value.bytes_value.decode("utf-8", "replace")
        values.extend(nested(value))
