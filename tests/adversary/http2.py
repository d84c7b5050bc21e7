"""HTTP/2 frames written by hand, in any order, as an attacker may send them; RFC 9113 and 7541 describe them."""

from __future__ import annotations

import struct
from collections.abc import Iterator

#: Kinds of frames, and a flag.
_DATA, _HEADERS, _RESET, _SETTINGS, _CONTINUATION = 0, 1, 3, 4, 9
_END_HEADERS = 4
_CANCEL = struct.pack(">I", 8)
#: Fields of the static table: POST, http, and names whose value follows.
_POST, _HTTP, _PATH, _AUTHORITY, _CONTENT_TYPE = b"\x83", b"\x86", b"\x44", b"\x41", b"\x5f"
_ACCEPT_ENCODING = b"\x90"


def _frame(kind: int, flags: int, stream: int, body: bytes) -> bytes:
    return struct.pack(">I", len(body))[1:] + struct.pack(">BBI", kind, flags, stream) + body


def _text(said: bytes) -> bytes:
    """A string without Huffman's code; longer ones take more than a byte for their length."""
    if len(said) < 127:
        return bytes([len(said)]) + said
    length, more = len(said) - 127, b"\x7f"
    while length > 127:
        more += bytes([length % 128 + 128])
        length //= 128
    return more + bytes([length]) + said


def _field(name: bytes, content: bytes) -> bytes:
    return b"\x00" + _text(name) + _text(content)


#: What a connection begins with: the preface, and settings that set nothing.
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + _frame(_SETTINGS, 0, 0, b"")
_MAKE = (
    _POST
    + _HTTP
    + _PATH
    + _text(b"/envwire.v1.EnvironmentService/Make")
    + _AUTHORITY
    + _text(b"localhost")
    + _CONTENT_TYPE
    + _text(b"application/grpc")
    + _field(b"te", b"trailers")
)


def half_a_call() -> bytes:
    """A Make that says that 100 MiB come, and sends 1,000 bytes of them."""
    message = b"\x00" + struct.pack(">I", 100 * 2**20) + bytes(1000)
    return _frame(_HEADERS, _END_HEADERS, 1, _MAKE) + _frame(_DATA, 0, 1, message)


def calls_taken_back(count: int) -> Iterator[bytes]:
    """Makes that are cancelled at once, so that no limit of streams is ever reached; a hundred at a time."""
    for first in range(0, count, 100):
        streams = range(2 * first + 1, 2 * (first + 100) + 1, 2)
        yield b"".join(
            _frame(_HEADERS, _END_HEADERS, each, _MAKE) + _frame(_RESET, 0, each, _CANCEL)
            for each in streams
        )


def headers_without_end(count: int) -> Iterator[bytes]:
    """Headers that are continued again and again, with 140 short fields at a time."""
    padding = b"".join(_field(b"x-%d" % number, 90 * b"a") for number in range(140))
    yield _frame(_HEADERS, 0, 1, _MAKE)
    for _ in range(count):
        yield _frame(_CONTINUATION, 0, 1, padding)


def a_field_without_end(count: int) -> Iterator[bytes]:
    """Headers with a field of 16 GiB, as its length says."""
    yield _frame(_HEADERS, 0, 1, _MAKE + b"\x00" + _text(b"x") + b"\x7f\x80\x80\x80\x80\x40")
    for _ in range(count):
        yield _frame(_CONTINUATION, 0, 1, 16000 * b"a")


def continued_with_nothing(count: int) -> Iterator[bytes]:
    """Headers that are continued by empty frames; a thousand at a time."""
    yield _frame(_HEADERS, 0, 1, _MAKE)
    for _ in range(0, count, 1000):
        yield 1000 * _frame(_CONTINUATION, 0, 1, b"")


def fields_named_again(count: int) -> Iterator[bytes]:
    """Headers of fields of the static table, each of which takes a byte; 16,000 at a time."""
    yield _frame(_HEADERS, 0, 1, _MAKE)
    for _ in range(0, count, 16000):
        yield _frame(_CONTINUATION, 0, 1, 16000 * _ACCEPT_ENCODING)


def settings(count: int) -> Iterator[bytes]:
    """Settings, each of which is to be acknowledged; a hundred at a time."""
    for _ in range(0, count, 100):
        yield 100 * _frame(_SETTINGS, 0, 0, b"")
