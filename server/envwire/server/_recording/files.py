"""The files of recordings: names, append-only writing, and reading as a sequence of exchanges."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import re
import secrets
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from envwire.codec import CodecError
from envwire.v1 import environment_pb2 as pb
from envwire.v1.recording_pb2 import RecordingEnd, RecordingEntry, RecordingHeader
from envwire.wire.recordings import EntryReader

SUFFIX = ".envrec"
#: Version of the form of recordings, in their headers.
FORM = 1
_STRANGE = re.compile(r"[^A-Za-z0-9._-]+")
_MAX_ID = 64
#: Pieces per call of `writev`, which accepts at most 1,024.
_PIECES = 512


class FullError(Exception):
    """The recording has reached its size limit."""


def new_name(env_id: str) -> str:
    """Returns a globally unique name for a recording: time, environment and a random part.

    Whatever characters the id has, the name is valid for a file in the directory, and not hidden.
    """
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    return f"{stamp}-{_STRANGE.sub('_', env_id)[:_MAX_ID]}-{secrets.token_hex(4)}"


def path_of(directory: str | os.PathLike[str], name: str) -> Path:
    """Returns the file of a recording."""
    return Path(directory) / file_name(name)


def file_name(name: str) -> str:
    """Returns the name of a recording's file."""
    return f"{name}{SUFFIX}"


def create_file(folder: int, name: str) -> int:
    """Creates a file for appending, readable only by its owner, and returns its descriptor.

    It is locked while its writer lives, which tells others that it is unfinished.

    Args:
        folder: Descriptor of its folder.
        name: Its name there.

    Raises:
        OSError: The file cannot be created.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(name, flags, 0o600, dir_fd=folder)
    with contextlib.suppress(OSError):  # not every file system has locks
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    return descriptor


class AppendedFile:
    """An append-only file of whole entries.

    Args:
        name: The recording's name.
        descriptor: Descriptor of the file, which is empty. This object owns it.
        limit: Largest size in bytes; 0 for no limit.

    Attributes:
        name: The recording's name.
    """

    def __init__(self, name: str, descriptor: int, limit: int) -> None:
        self.name = name
        self._descriptor = descriptor
        self._limit = limit
        self._size = 0

    def append(self, pieces: Sequence[bytes | memoryview], last: bool = False) -> None:
        """Appends an entry.

        Args:
            pieces: The entry, in pieces.
            last: Whether it may exceed the limit.

        Raises:
            FullError: The file would exceed its limit.
            OSError: The entry cannot be written, as on a full disk; a partly written entry is removed.
        """
        length = sum(map(len, pieces))
        if self._limit and not last and self._size + length > self._limit:
            raise FullError
        if len(pieces) > _PIECES:
            pieces = [b"".join(pieces)]
        try:
            self._write(pieces, length)
        except OSError:
            with contextlib.suppress(OSError):  # readers ignore a partly written entry at the end
                os.ftruncate(self._descriptor, self._size)
            raise
        self._size += length

    def _write(self, pieces: Sequence[bytes | memoryview], length: int) -> None:
        written = os.writev(self._descriptor, pieces)
        if written < length:  # a nearly full disk, or more than 2 GiB at once
            rest = memoryview(b"".join(pieces))[written:]
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]

    def close(self) -> None:
        """Closes the file, which releases its lock. Closing it twice is harmless."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


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
