"""Servers that encode attachments wrongly."""

from __future__ import annotations

from typing import Any

from envwire.conformance.proxy import Behaviour
from envwire.conformance.raw.direct_link import ENCODED, HEADER
from envwire.v1 import direct_pb2
from envwire.v1 import environment_pb2 as pb
from tests.conformance.mutants.mailbox_port import Mailboxed
from tests.conformance.mutants.mutant import caught_by

WHOLE = "encoded.encoded-arrays-come-whole[direct]"
_ZSTD, _XOR = direct_pb2.ENCODING_ZSTD, direct_pb2.ENCODING_XOR_ZSTD


class Encoding(Behaviour):
    """Encodes each observation of several arrays, correctly."""

    names = (_ZSTD, _XOR)
    states_size = True
    differs_from_last = True

    def __init__(self) -> None:
        self.last = b""

    def greet(self, answer: direct_pb2.HelloResponse) -> direct_pb2.HelloResponse:
        if answer.HasField("welcome"):
            answer.welcome.encodings.extend(self.names)
        return answer

    def encoding(self, data: bytes) -> int:
        return _XOR if len(data) == len(self.last) else _ZSTD

    def frames(self, frame: bytes) -> list[bytes]:
        answer = pb.InteractResponse()
        try:
            answer.MergeFromString(frame[HEADER.size :])
        except Exception:  # a welcome
            return [frame]
        data = b""
        for value in answer.step.observation.tuple.values:  # of multiples of 64 bytes
            value.array.attachment_offset = len(data)
            data += value.array.data
            value.array.ClearField("data")
        if not data:
            return [frame]
        sent, encoding = data, self.encoding(data)
        if encoding == _XOR:
            sent = bytes(map(int.__xor__, data, self.last))
        if self.differs_from_last or not self.last:
            self.last = data
        compressed, message = self.compressed(sent), answer.SerializeToString()
        head = HEADER.pack(len(message), ENCODED + encoding, len(compressed))
        return [head + message + compressed]

    def compressed(self, data: bytes) -> bytes:
        import zstandard

        compressor: Any = zstandard.ZstdCompressor(write_content_size=self.states_size)
        return bytes(compressor.compress(data))


@caught_by("encoded.nothing-is-encoded-unasked[direct]")
class NamesEncodingsUnasked(Encoding):
    """Names encodings to all clients."""


@caught_by("encoded.nothing-is-encoded-on-a-unix-socket[direct]")
class NamesEncodingsOnUnixSockets(Mailboxed):
    """Names encodings on every channel."""

    def greet(self, answer: direct_pb2.HelloResponse) -> direct_pb2.HelloResponse:
        if answer.HasField("welcome"):
            answer.welcome.encodings.append(_ZSTD)
        return answer


@caught_by(WHOLE)
class NamesOneEncoding(Encoding):
    """Uses an encoding that its welcome does not name."""

    names = (_ZSTD,)


@caught_by(WHOLE)
class SizeIsNotStated(Encoding):
    """Leaves the size of the content out of a Zstandard frame."""

    states_size = False


@caught_by(WHOLE)
class DifferencesAreToTheFirst(Encoding):
    """Compares with the first array of a channel instead of the last."""

    differs_from_last = False


@caught_by(WHOLE)
class DifferencesAreToAnotherSize(Encoding):
    """Sends the differences to an array of another size."""

    def encoding(self, data: bytes) -> int:
        return _XOR if self.last else _ZSTD
