"""Attachments that are encoded on their way."""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import Any

from envwire.conformance.checks.channels.frames import elements
from envwire.conformance.outcomes import FailedError, SkippedError, expect, expect_equal
from envwire.conformance.raw import Answer, DirectLink, Session
from envwire.conformance.raw.access import MAX_ANSWER_BYTES
from envwire.conformance.raw.direct_link import ENCODED, UNIX
from envwire.conformance.raw.values import counted, integer, sequence
from envwire.conformance.suite import CheckContext, check
from envwire.v1 import direct_pb2
from envwire.v1 import environment_pb2 as pb

_DIRECT = ("direct",)
_ZSTD, _XOR = direct_pb2.ENCODING_ZSTD, direct_pb2.ENCODING_XOR_ZSTD
_LARGE = 100_000
#: Sizes of the arrays of an answer: the first two are of the same size together, and differ in their elements.
_SIZES, _EXCHANGED, _OTHERS = (6_400, 12_800), (12_800, 6_400), (6_400, 6_400)


def _hello(
    context: CheckContext, encodings: list[direct_pb2.Encoding.ValueType], form: str = ":"
) -> tuple[Session, DirectLink]:
    made = context.make("Big").made
    address = next((one for one in made.direct.addresses if one.startswith(form)), "")
    if not address:
        raise SkippedError(f"the session has no direct channel at {form!r}")
    link = context.connect(made, address)
    header = pb.SessionHeader(session_id=made.session_id, secret=made.secret)
    link.hello(header, encodings=encodings)
    return context.attach(made, link), link


class _Reader:
    """Decodes the answers of one channel."""

    def __init__(self) -> None:
        try:
            self._zstandard: Any = importlib.import_module("zstandard")
        except ImportError:
            raise SkippedError("the package zstandard is not installed") from None
        self._last = b""

    def decoded(self, answer: Answer) -> Answer:
        """Returns an answer with its attachments as they were before they were encoded."""
        if answer.slot < ENCODED:
            return answer
        content = self._content(answer.attachments)
        if answer.slot - ENCODED == _XOR:
            expect_equal(len(content), len(self._last), "bytes, those of the attachments before")
            content = bytes(map(int.__xor__, content, self._last))
        self._last = content
        return replace(answer, attachments=content)

    def _content(self, encoded: bytes) -> bytes:
        try:
            size = self._zstandard.frame_content_size(encoded)
            expect(0 < size <= MAX_ANSWER_BYTES, "a Zstandard frame that states its size")
            content: bytes = self._zstandard.ZstdDecompressor().decompress(encoded)
        except self._zstandard.ZstdError as error:
            raise FailedError(f"a Zstandard frame, not {error}") from None
        return content


@check("ENCODE-1", over=_DIRECT)
def nothing_is_encoded_unasked(context: CheckContext) -> None:
    """A client that names no encodings gets none: neither in the welcome nor in a frame."""
    session, link = _hello(context, [])
    expect_equal(list(link.welcome.encodings), [], "encodings of the welcome")
    session.reset(1)
    answer = session.ask("step", action=integer(_LARGE))
    expect_equal(answer.slot, 0, "where the attachments are")


@check("ENCODE-2", over=_DIRECT, profile="compression")
def nothing_is_encoded_on_a_unix_socket(context: CheckContext) -> None:
    """On a Unix socket the welcome names no encodings, whatever the hello names."""
    _, link = _hello(context, [_ZSTD, _XOR], UNIX)
    expect_equal(list(link.welcome.encodings), [], "encodings of the welcome")


@check("ENCODE-1 ENCODE-3 ENCODE-4 ENCODE-5 ENCODE-6 ENCODE-7", over=_DIRECT, profile="compression")
def encoded_arrays_come_whole(context: CheckContext) -> None:
    """Arrays that change, and whose sizes do, arrive as the environment returned them, and as fewer bytes."""
    session, link = _hello(context, [_ZSTD, _XOR])
    reader, offered = _Reader(), {0, *(ENCODED + one for one in link.welcome.encodings)}
    session.reset(1)
    for sizes in (_SIZES, _EXCHANGED, _EXCHANGED, _SIZES, _OTHERS, _SIZES, _SIZES):
        came = session.ask("step", action=sequence(*map(integer, sizes)))
        expect(came.slot in offered, "an encoding that the welcome names")
        expect(len(came.attachments) < sum(sizes) // 2, "fewer bytes than the arrays have")
        decoded = reader.decoded(came)
        for size, value in zip(sizes, came.of("step").observation.tuple.values, strict=True):
            found = elements(decoded, value.array)
            expect(found == counted(size), f"the {size} elements that the environment returned")
