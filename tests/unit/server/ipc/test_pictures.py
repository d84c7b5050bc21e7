"""Pictures between a session process and the front: bounded, and checked by the reader."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest

from envwire.server._ipc.frames import MAX_SIDE, FrameError, pack_picture, pack_reason, read_picture

HEAD = struct.Struct("<HHd")


@pytest.mark.parametrize(
    ("shape", "small"),
    [
        ((1, 1), (1, 1)),
        ((MAX_SIDE, MAX_SIDE), (MAX_SIDE, MAX_SIDE)),
        ((MAX_SIDE + 1, 10), (161, 5)),
        ((400, 600), (200, 300)),
        ((3000, 2), (300, 1)),
    ],
)
def test_a_large_picture_loses_pixels(shape: tuple[int, int], small: tuple[int, int]) -> None:
    pixels = np.arange(math.prod(shape) * 3, dtype=np.uint8).reshape(*shape, 3)
    picture = read_picture(pack_picture(pixels, 0.5))
    assert (picture.height, picture.width, picture.seconds) == (*small, 0.5)
    every = -(-max(shape) // MAX_SIDE)
    assert picture.rgb == pixels[::every, ::every].tobytes()


@pytest.mark.parametrize(
    "rendered",
    [
        None,
        "a text",
        np.zeros((4, 4, 3), np.float32),
        np.zeros((4, 4), np.uint8),
        np.zeros((4, 4, 4), np.uint8),
        np.zeros((0, 4, 3), np.uint8),
    ],
)
def test_what_is_no_picture(rendered: object) -> None:
    with pytest.raises(ValueError, match="the environment rendered"):
        pack_picture(rendered, 0.0)


def test_a_reason_is_cut() -> None:
    picture = read_picture(pack_reason("\U0001f3a8" * 1000, 0.5))
    assert picture == (0, 0, b"", "\U0001f3a8" * 200, 0.5)


@pytest.mark.parametrize(
    "message",
    [
        b"",
        HEAD.pack(2, 2, 0.0) + bytes(11),
        HEAD.pack(MAX_SIDE + 1, 1, 0.0) + bytes(3 * (MAX_SIDE + 1)),
        HEAD.pack(0, 1, 0.0),
        HEAD.pack(0, 0, 0.0) + bytes(801),
        HEAD.pack(0, 0, math.nan),
        HEAD.pack(1, 1, math.inf) + bytes(3),
        HEAD.pack(1, 1, math.nan) + bytes(3),
        HEAD.pack(1, 1, -1.0) + bytes(3),
    ],
)
def test_a_process_that_sends_no_picture_is_found_out(message: bytes) -> None:
    with pytest.raises(FrameError):
        read_picture(message)
