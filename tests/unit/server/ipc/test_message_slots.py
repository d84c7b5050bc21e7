"""Message slots: what one end writes the other takes, once, and nothing else."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from envwire.server._ipc.frames import FrameReader, Kind, pack_header
from envwire.server._ipc.message_slots import (
    MAX_SLOT_BYTES,
    MIN_SLOT_BYTES,
    REPLIES,
    REQUESTS,
    MessageSlots,
    MessageSlotsError,
)
from envwire.server._ipc.scoreboard import make_scoreboard


class Sides(NamedTuple):
    """Both ends and their file."""

    front: MessageSlots
    process: MessageSlots
    file: int


@pytest.fixture
def sides() -> Iterator[Sides]:
    file, scoreboard = make_scoreboard(1)
    made = Sides(
        MessageSlots(os.dup(file), scoreboard, REQUESTS),
        MessageSlots(os.dup(file), scoreboard, REPLIES),
        file,
    )
    yield made
    made.front.close()
    made.process.close()
    scoreboard.close()
    os.close(file)


def message(length: int, seed: int = 1) -> bytes:
    return bytes((seed, seed + 1, seed + 2)) * (length // 3) + bytes(length % 3)


@pytest.mark.parametrize("length", [MIN_SLOT_BYTES, 1_000_000, MAX_SLOT_BYTES])
def test_messages_pass_both_ways_in_pieces(sides: Sides, length: int) -> None:
    sent = message(length)
    for _ in range(3):
        for giver, taker in ((sides.front, sides.process), (sides.process, sides.front)):
            where = giver.put([sent[:10], memoryview(sent)[10:]], length)
            assert where
            assert taker.take(where, length) == sent


@pytest.mark.parametrize("length", [0, 1, MIN_SLOT_BYTES - 1, MAX_SLOT_BYTES + 1])
def test_other_messages_are_sent(sides: Sides, length: int) -> None:
    assert sides.process.put([bytes(length)], length) == 0


def test_what_was_not_taken_is_not_overwritten(sides: Sides) -> None:
    sent = [message(MIN_SLOT_BYTES, seed) for seed in range(1, 4)]
    places = [sides.process.put([each], MIN_SLOT_BYTES) for each in sent]
    assert places[2] == 0, "all slots are taken"
    assert sides.front.put([sent[2]], MIN_SLOT_BYTES), "on this side only"
    assert sides.front.take(places[1], MIN_SLOT_BYTES) == sent[1]
    assert sides.process.put([sent[2]], MIN_SLOT_BYTES) == places[1]
    assert sides.front.take(places[0], MIN_SLOT_BYTES) == sent[0]
    assert sides.front.take(places[1], MIN_SLOT_BYTES) == sent[2]


@pytest.mark.parametrize("pieces", [1025, 5000])
def test_more_pieces_than_a_call_takes_are_sent(sides: Sides, pieces: int) -> None:
    assert sides.process.put([bytes(100)] * pieces, 100 * pieces) == 0
    assert sides.process.put([bytes(MIN_SLOT_BYTES)], MIN_SLOT_BYTES)


@pytest.mark.parametrize("where", [-1, 0, REQUESTS.start + 1, REPLIES.stop + 1, 2**32 - 1])
def test_there_is_nothing_in_other_slots(sides: Sides, where: int) -> None:
    with pytest.raises(MessageSlotsError, match=f"at slot {where}"):
        sides.front.take(where, MIN_SLOT_BYTES)


@pytest.mark.parametrize("change", [-1, 1])
def test_a_peer_cannot_make_the_file_shorter_or_longer(sides: Sides, change: int) -> None:
    where = sides.process.put([message(MIN_SLOT_BYTES)], MIN_SLOT_BYTES)
    with pytest.raises(PermissionError):
        os.ftruncate(sides.file, os.fstat(sides.file).st_size + change)
    with pytest.raises(PermissionError):
        os.ftruncate(sides.file, 0)
    with pytest.raises(
        PermissionError
    ):  # nor take the seals off, by adding one that forbids others
        fcntl.fcntl(sides.file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE)
    assert sides.front.take(where, MIN_SLOT_BYTES) == message(MIN_SLOT_BYTES)


def test_a_file_takes_no_memory_before_it_is_written_to(sides: Sides) -> None:
    assert os.fstat(sides.file).st_blocks * 512 <= 4096


def test_frames_and_shelved_messages_come_in_order(sides: Sides) -> None:
    reader, sent = FrameReader(MAX_SLOT_BYTES, sides.front), message(MIN_SLOT_BYTES)
    where = sides.process.put([sent], len(sent))
    stream = (
        pack_header(Kind.REPLY, 1, 2)
        + b"ab"
        + pack_header(Kind.REPLY, 2, len(sent), where)
        + pack_header(Kind.CLOSED, 3)
    )
    frames = [frame for byte in stream for frame in reader.feed(bytes((byte,)))]
    assert frames == [(Kind.REPLY, 1, b"ab"), (Kind.REPLY, 2, sent), (Kind.CLOSED, 3, b"")]
