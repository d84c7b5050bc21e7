"""Recordings on disk: entries, each preceded by its length. A process that dies while writing leaves a torn tail."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import BinaryIO, Final

from google.protobuf.message import DecodeError

from envwire.v1 import recording_pb2
from envwire.wire.varints import read_varint, tag, varint

_ENTRY: Final = recording_pb2.RecordingEntry
_AT: Final = tag(_ENTRY, "at")
_KINDS: Final = {
    field.name: tag(_ENTRY, field.name)
    for field in _ENTRY.DESCRIPTOR.oneofs_by_name["entry"].fields
}
#: Most bytes of a varint, which holds the length of an entry.
_LENGTH_BYTES: Final = 10


def framed(
    kind: str, at: int, content: Sequence[bytes | memoryview]
) -> tuple[bytes | memoryview, ...]:
    """Returns an entry in pieces, preceded by its length.

    Args:
        kind: Its field in RecordingEntry.
        at: Microseconds since the recording began.
        content: The message in that field, in pieces, which are not copied.
    """
    length = sum(map(len, content))
    head = _AT + varint(at) + _KINDS[kind] + varint(length)
    return varint(len(head) + length) + head, *content


class EntryReader:
    """Reads the entries of a recording, up to its end or to a torn tail.

    Args:
        file: The recording, from its beginning.

    Attributes:
        torn_at: The offset of the torn tail, in bytes; None if there is none.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.torn_at: int | None = None

    def __iter__(self) -> Iterator[recording_pb2.RecordingEntry]:
        while self.torn_at is None:
            begin = self._file.tell()
            entry = self._read()
            if entry is not None:
                yield entry
            elif self._file.tell() == begin:  # the end
                return
            else:
                self.torn_at = begin

    def _left(self, start: int) -> int:
        """Seeks to `start` and returns the bytes left, so that no memory is allocated for bytes that do not exist."""
        end = self._file.seek(0, os.SEEK_END)
        self._file.seek(start)
        return end - start

    def _read(self) -> recording_pb2.RecordingEntry | None:
        begin = self._file.tell()
        prefix = self._file.read(_LENGTH_BYTES)
        length, start = read_varint(prefix, 0)
        if start < 0 or not length or length > self._left(begin + start):
            return None
        raw = self._file.read(length)
        try:
            return _ENTRY.FromString(raw)
        except DecodeError:
            return None
