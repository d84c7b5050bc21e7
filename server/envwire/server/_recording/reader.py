"""Reads recordings as a sequence of exchanges: requests with their responses."""

from __future__ import annotations

import itertools
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from envwire.codec import CodecError
from envwire.server._recording.files import SUFFIX
from envwire.server._recording.recording import FORM
from envwire.v1 import environment_pb2 as pb
from envwire.v1.recording_pb2 import RecordingEnd, RecordingEntry, RecordingHeader
from envwire.wire.recordings import EntryReader

_ENDS = {
    RecordingEnd.REASON_CLOSED: "closed by its client",
    RecordingEnd.REASON_ENDED: "ended by the server",
    RecordingEnd.REASON_FULL: "full: the session went on",
}
#: Longest chain of origins to follow, since a copy may be copied again.
_DEPTH = 64


class RecordingError(Exception):
    """The file is not a recording, or not one that this version can read."""


@dataclass(frozen=True)
class Exchange:
    """A request and its response.

    Attributes:
        at: Seconds since the recording began.
        request: The request.
        response: The response; None if the process died while serving the request, or is still serving it.
        replayed: Whether the request was part of a Replay.
    """

    at: float
    request: pb.InteractRequest
    response: pb.InteractResponse | None

    replayed: bool = False

    @property
    def kind(self) -> str:
        """Name of the request's field in InteractRequest; empty if none is set."""
        return self.request.WhichOneof("request") or ""


class RecordedSession:
    """The recording of one session.

    Args:
        path: Its file. The origin of a copied session is expected in the same directory.

    Attributes:
        header: The session that was recorded.
        ending: How it ended, in words; set once all exchanges were read.
        torn_at: Byte behind which it cannot be read; None if there is none, and before all exchanges were read.

    Raises:
        RecordingError: The file is not a recording, or of a later version.
        OSError: The file cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with path.open("rb") as file:
            if not file.seekable():
                raise RecordingError(f"{path} is a pipe, which can be read once; save it as a file")
            first = next(iter(EntryReader(file)), None)
        if first is None or not first.HasField("header"):
            raise RecordingError(f"{path} is no recording: it does not begin with a header")
        self.header: RecordingHeader = first.header
        if self.header.form != FORM:
            raise RecordingError(
                f"{path} is a recording of form {self.header.form}; this version reads form {FORM}"
            )
        self.ending = ""
        self.torn_at: int | None = None

    @contextmanager
    def decoding(self) -> Generator[None]:
        """Context in which values of this recording are decoded.

        Raises:
            RecordingError: A value is damaged.
        """
        try:
            yield
        except CodecError as error:
            raise RecordingError(
                f"{self.path} is damaged, or of a later version: {error.path or 'value'} is {error.args[0]}; "
                "leave this recording out"
            ) from error

    def exchanges(self) -> Iterator[Exchange]:
        """Yields the exchanges in the order of their responses, after those of the origin for a copied session.

        The requests of a Replay come before the Replay itself.

        Raises:
            RecordingError: The recording of the origin is missing, of another environment, or ends too early.
        """
        asked: list[RecordingEntry] = []
        with closing(self._entries(_DEPTH)) as entries:
            for entry in entries:
                if entry.HasField("request"):
                    asked.append(entry)
                elif entry.HasField("response") and asked:
                    yield _exchange(asked, entry.response)
        while asked:
            yield _exchange(asked, None)

    def _entries(self, depth: int, own: int | None = None) -> Generator[RecordingEntry, None, None]:
        """Yields the entries that precede a copy, and then those of this file: all, or the first `own`."""
        if self.header.copy_of:
            yield from self._origin(depth)._entries(depth - 1, self.header.copied_entries)
        self.ending = "not ended: it is being written, or its process was killed"
        count = 0
        with self.path.open("rb") as file:
            reader = EntryReader(file)
            for entry in itertools.islice(reader, own):
                count += 1
                if entry.HasField("end"):
                    self.ending = _ENDS.get(entry.end.reason, "ended")
                yield entry
        if own is not None and count < own:
            raise RecordingError(
                f"{self.path} ends before the copy of its session was made, so the copy's recording cannot be read"
            )
        self.torn_at = reader.torn_at
        if self.torn_at is not None:
            self.ending = f"torn at byte {self.torn_at}: its process died while it wrote, or the file is damaged"

    def _origin(self, depth: int) -> RecordedSession:
        name = self.header.copy_of
        path = self.path.with_name(f"{Path(name).name}{SUFFIX}")
        if not depth or not path.is_file():
            raise RecordingError(
                f"{self.path} is of a copy of a session, and the recording {name} of that session is not beside it"
            )
        origin = RecordedSession(path)
        if origin.header.make != self.header.make:
            raise RecordingError(
                f"{path} is not the recording of the session that was copied to {self.path}: their environments differ"
            )
        return origin


def _exchange(asked: list[RecordingEntry], response: pb.InteractResponse | None) -> Exchange:
    """Pairs the most recent pending request with a response."""
    entry = asked.pop()
    return Exchange(entry.at / 1e6, entry.request, response, bool(asked))
