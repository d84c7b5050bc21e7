"""Memory that a server offers is refused if it differs from its description, or could shrink below the mapping."""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from envwire.client._transports.direct.array_memory import SharedFrames, map_mailbox
from envwire.v1 import direct_pb2
from envwire.wire.local_channel import BOX_BYTES

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs memfd_create")


def memory(seals: int) -> int:
    descriptor = os.memfd_create("test", os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, 2 * BOX_BYTES)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
    return descriptor


def pipe() -> int:
    reading, writing = os.pipe()
    os.close(writing)
    return reading


KINDS: dict[str, Callable[[Path], int]] = {
    "unsealed": lambda _: memory(0),
    "may shrink": lambda _: memory(fcntl.F_SEAL_GROW),
    "read-only": lambda _: memory(fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_WRITE),
    "a pipe": lambda _: pipe(),
    "a directory": lambda path: os.open(path, os.O_RDONLY),
    "a file": lambda path: os.open(path / "file", os.O_RDWR | os.O_CREAT),
    "a device": lambda _: os.open("/dev/zero", os.O_RDWR),
}


@pytest.fixture(params=KINDS)
def other(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[int]:
    descriptor = KINDS[request.param](tmp_path)
    if request.param == "a file":
        os.ftruncate(descriptor, 2 * BOX_BYTES)
    yield descriptor
    os.close(descriptor)


def test_only_sealed_memory_is_mapped(other: int) -> None:
    with pytest.raises(OSError, match=r"."):
        map_mailbox(other, direct_pb2.Mailbox(box_bytes=BOX_BYTES), print)
    layout = direct_pb2.SharedMemory(slots=1, slot_bytes=BOX_BYTES, first_slot=BOX_BYTES)
    with pytest.raises(OSError, match=r"."):
        SharedFrames(other, layout)


@pytest.mark.parametrize("box_bytes", [0, 63, BOX_BYTES + 1, 2**32 - 1])
def test_a_mailbox_is_as_large_as_the_server_says(box_bytes: int) -> None:
    descriptor = memory(fcntl.F_SEAL_SHRINK)
    with pytest.raises(OSError, match=r"mailbox|size"):
        map_mailbox(descriptor, direct_pb2.Mailbox(box_bytes=box_bytes), print)
    assert map_mailbox(descriptor, direct_pb2.Mailbox(box_bytes=BOX_BYTES), print)
    os.close(descriptor)


@pytest.mark.parametrize(
    ("slots", "first_slot"), [(1, 0), (BOX_BYTES + 1, BOX_BYTES), (2**32 - 1, 0)]
)
def test_slots_lie_behind_the_bytes_that_tell_which_are_in_use(slots: int, first_slot: int) -> None:
    """Else freeing an array would change another one, or fail where nobody is told."""
    descriptor = memory(fcntl.F_SEAL_SHRINK)
    layout = direct_pb2.SharedMemory(slots=slots, slot_bytes=0, first_slot=first_slot)
    with pytest.raises(OSError, match="slots"):
        SharedFrames(descriptor, layout)
    os.close(descriptor)
