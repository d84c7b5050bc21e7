"""Writes the recording of one session.

A failure to record never fails the session; it is reported in the operator's log.
"""

from __future__ import annotations

import contextlib
import os
import platform
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import version

from envwire.codec.fastpath.attached_arrays import pieces
from envwire.server._recording.files import AppendedFile, FullError
from envwire.server._recording.redaction import Redaction
from envwire.server._version import VERSION
from envwire.server.config import ServerConfig
from envwire.v1 import environment_pb2 as pb
from envwire.v1.recording_pb2 import RecordingEnd, RecordingHeader
from envwire.wire.frames import Packet
from envwire.wire.recordings import framed

FORM = 1
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
