"""Pictures of an environment that a session process renders for watchers, and their messages to the front.

A message holds width and height (2 bytes each), the rendering time in seconds (an 8-byte float), and the pixels. A
message without pixels has the reason in their place, in UTF-8.
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

import numpy as np

from envwire.server._ipc.frames import FrameError

_HEAD = struct.Struct("<HHd")
#: The only mode that can be rendered for watchers: "rgb_array_list" hands out frames once, and they are the client's.
RENDER_MODE = "rgb_array"
#: Longest side in pixels: enough for a tile on a page, and at most 307,200 bytes.
MAX_SIDE = 320
_MAX_REASON = 200


class Picture(NamedTuple):
    """A rendered picture, or the reason why there is none.

    Attributes:
        width: Pixels per row; 0 without a picture.
        height: Number of rows.
        rgb: Three bytes per pixel, row by row from the top.
        reason: Why there is no picture.
        seconds: Rendering time.
    """

    width: int
    height: int
    rgb: bytes
    reason: str
    seconds: float


def pack_picture(pixels: Any, seconds: float) -> bytes:
    """Returns the message of a picture; a large one is reduced to every n-th pixel.

    Args:
        pixels: The result of `render`.
        seconds: Rendering time.

    Raises:
        ValueError: The result is not a uint8 array of shape (height, width, 3).
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
    """Returns the message that says why there is no picture; `seconds` is the time of the attempt."""
    return _HEAD.pack(0, 0, seconds) + reason[:_MAX_REASON].encode(errors="replace")


def read_picture(message: bytes) -> Picture:
    """Parses a picture's message. It comes from a session process and is not trusted.

    Raises:
        FrameError: The message is not a valid picture.
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
