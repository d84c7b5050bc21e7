"""Encodes pictures as PNG, which every browser reads."""

from __future__ import annotations

import struct
import zlib

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_HEAD = struct.Struct(">IIBBBBB")
_LENGTH = struct.Struct(">I")
#: PNG's bit depth (8 bits per channel) and its colour type for RGB.
_DEPTH, _RGB = 8, 2


def png(width: int, height: int, rgb: bytes) -> bytes:
    """Encodes a picture as PNG.

    Args:
        width: Pixels per row.
        height: Number of rows.
        rgb: Three bytes per pixel, row by row from the top.
    """
    stride = 3 * width
    rows = b"".join(b"\0" + rgb[at : at + stride] for at in range(0, height * stride, stride))
    head = _HEAD.pack(width, height, _DEPTH, _RGB, 0, 0, 0)
    body = zlib.compress(rows, 1)
    return _SIGNATURE + _chunk(b"IHDR", head) + _chunk(b"IDAT", body) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return _LENGTH.pack(len(data)) + kind + data + _LENGTH.pack(zlib.crc32(kind + data))
