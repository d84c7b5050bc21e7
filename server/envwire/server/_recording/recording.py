"""Writes the recording of one session, without the values that the operator named.

A failure to record never fails the session; it is reported in the operator's log.
"""

from __future__ import annotations

import contextlib
import os
import platform
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from envwire.codec.fastpath.attached_arrays import pieces
from envwire.codec.messages import nested
from envwire.server._recording.files import FORM, AppendedFile, FullError
from envwire.server.config import ServerConfig
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import values_pb2
from envwire.v1.recording_pb2 import RecordingEnd, RecordingHeader
from envwire.wire.frames import Packet
from envwire.wire.recordings import framed
from envwire.wire.version import VERSION

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


_STDERR = 2


class Recording:
    """The recording of one session: a header, then each request before it is served, and its response.

    Args:
        config: The server's settings.
        make: The session's MakeRequest.
        libraries: Versions of the server's libraries, by name.
    """

    def __init__(
        self, config: ServerConfig, make: pb.MakeRequest, libraries: Mapping[str, str]
    ) -> None:
        self._config = config
        self._libraries = libraries
        self._make = pb.MakeRequest()
        self._make.CopyFrom(make)
        self._make.ClearField("request_id")  # with it a client could repeat the Make
        self._make.ClearField("copy_of")  # holds the secret of another session
        self._redaction = Redaction(config.record_redact) if config.record_redact else None
        self._file: AppendedFile | None = None
        self._copied = ("", 0)
        self._stopped = False
        self._entries = 0
        self._begun = 0
        self.name = ""

    def begin(self, made: pb.MakeResponse, file: AppendedFile | None) -> None:
        """Writes the header; if that fails, or nothing may be recorded, the name stays empty.

        Args:
            made: The answer to the Make.
            file: The file, closed with the recording; None if there is none.
        """
        if file is None:
            return
        if self._stopped:
            file.close()
            return
        self.name, self._file, self._begun = file.name, file, time.monotonic_ns()
        self._append("header", [self._header(made).SerializeToString()])
        if not self._goes_on:  # a file without its header cannot be read; the front removes it
            self.name = ""

    def _header(self, made: pb.MakeResponse) -> RecordingHeader:
        header = RecordingHeader(form=FORM, make=self._make, made=made)
        if self._redaction is not None:
            self._redaction.make(header.make, header.made)
            header.redacted.extend(self._redaction.patterns)
        header.started.GetCurrentTime()
        header.copy_of, header.copied_entries = self._copied
        own = {"envwire": VERSION, "python": platform.python_version(), "numpy": version("numpy")}
        for name, number in {**self._libraries, **own}.items():
            header.versions.add(name=name, version=number)
        return header

    def add_request(self, raw: bytes) -> None:
        """Records a request that is about to be served."""
        if self._redaction is not None and self._file is not None:
            raw = self._redaction.request(raw)
        self._append("request", [raw])

    def add_response(self, packet: Packet) -> None:
        """Records the response to the last request, with its attachments."""
        content = pieces(packet)
        if self._redaction is not None and self._file is not None:
            content = [self._redaction.response(b"".join(content))]
        self._append("response", content)

    def finish(self, reason: RecordingEnd.Reason.ValueType) -> None:
        """Ends the recording. Ending it twice is harmless."""
        self._append("end", [RecordingEnd(reason=reason).SerializeToString()], last=True)
        self._close()

    def copy(self) -> Recording:
        """Returns the recording for a copy of the session; called in the process that was forked for it.

        It stays empty if this recording has stopped, since the requests between the two would be missing.
        """
        copy = Recording(self._config, self._make, self._libraries)
        copy._copied = (self.name, self._entries)
        copy._stopped = not self._goes_on
        self._close()
        return copy

    @property
    def _goes_on(self) -> bool:
        return self._file is not None

    def _append(self, kind: str, content: Sequence[bytes | memoryview], last: bool = False) -> None:
        if self._file is None:
            return
        at = (time.monotonic_ns() - self._begun) // 1000
        try:
            self._file.append(framed(kind, at, content), last)
        except FullError:
            self.finish(RecordingEnd.REASON_FULL)
            self._stop("is full, see --record-max-session-bytes")
        except OSError as error:
            self._stop(f"stopped: {error}")
        else:
            self._entries += 1

    def _stop(self, why: str) -> None:
        with contextlib.suppress(OSError):  # the environment may have closed it
            os.write(_STDERR, f"recording {self.name} {why}; the session goes on\n".encode())
        self._close()

    def _close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            with contextlib.suppress(OSError):
                file.close()
