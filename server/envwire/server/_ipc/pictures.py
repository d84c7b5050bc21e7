"""Pictures that a session process takes of its environment for watchers, and how they go to the front.

A message holds width and height (2 bytes each), the seconds that rendering took (a float of 8 bytes), and the pixels. A
picture of no pixels has in their place the reason, in UTF-8.
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

import numpy as np

from envwire.server._ipc.frames import FrameError

_HEAD = struct.Struct("<HHd")
#: The mode whose frames can be taken again: those of "rgb_array_list" are handed out once, and belong to the client.
RENDER_MODE = "rgb_array"
#: Longest side: a tile on a page, and at most 307,200 bytes.
MAX_SIDE = 320
_MAX_REASON = 200


class Picture(NamedTuple):
    """What a watcher sees.

    Attributes:
        width: Pixels of a row; 0 when there is no picture.
        height: Rows.
        rgb: Three bytes a pixel, row by row from the top.
        reason: Why there is no picture.
        seconds: Time that it took.
    """

    width: int
    height: int
    rgb: bytes
    reason: str
    seconds: float


def pack_picture(pixels: Any, seconds: float) -> bytes:
    """Returns the message of a picture, with every n-th pixel of a large one.

    Args:
        pixels: What `render` returned.
        seconds: Time that it took.

    Raises:
        ValueError: It is no array of (height, width, 3) bytes.
    """
    array = np.asarray(pixels)
    if array.dtype != np.uint8 or array.ndim != 3:
        raise ValueError("the environment rendered no array of bytes")
    if array.shape[2] != 3 or not array.size:
        raise ValueError(f"the environment rendered an array of shape {array.shape}")
    every = -(-max(array.shape[:2]) // MAX_SIDE)
    small = array[::every, ::every]
    return _HEAD.pack(small.shape[1], small.shape[0], seconds) + small.tobytes()


def pack_reason(reason: str, seconds: float = 0.0) -> bytes:
    """Returns the message that tells why there is no picture, and how long the attempt took."""
    return _HEAD.pack(0, 0, seconds) + reason[:_MAX_REASON].encode(errors="replace")


def read_picture(message: bytes) -> Picture:
    """Reads what a process sent, which is not trusted.

    Raises:
        FrameError: It is no picture.
    """
    if len(message) < _HEAD.size:
        raise FrameError(f"a picture of {len(message)} bytes")
    width, height, seconds = _HEAD.unpack_from(message)
    body = message[_HEAD.size :]
    if not 0 <= seconds < float("inf"):
        raise FrameError(f"a picture that took {seconds} s")
    if not width and not height and len(body) <= 4 * _MAX_REASON:
        return Picture(0, 0, b"", body.decode(errors="replace"), seconds)
    if max(width, height) > MAX_SIDE or len(body) != width * height * 3 or not body:
        raise FrameError(f"a picture of {width} x {height} pixels in {len(body)} bytes")
    return Picture(width, height, body, "", seconds)
