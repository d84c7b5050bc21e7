"""Test vectors of the direct channel, as the code sends them. `python -m tests.direct.vectors` writes the file."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf import text_format
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message

from envwire.client._transports.direct.direct_channel import Channel as ClientChannel
from envwire.codec import (
    FaultError,
    Reason,
    encode_fault,
    encode_mapping,
    encode_random_state,
    encode_value,
)
from envwire.codec.fastpath.step_codec import StepRequestWriter
from envwire.codec.fastpath.step_responses import StepResponseWriter
from envwire.server._worker.direct.channel import Channel as ServerChannel
from envwire.server._worker.direct.shared_memory import Boxes, SharedSlots
from envwire.v1 import direct_pb2
from envwire.v1 import environment_pb2 as pb
from envwire.wire.encodings import ENCODED
from envwire.wire.frames import HEADER, HEADER_BYTES, PREAMBLE, Attachments, Packet

PATH = Path(__file__).parents[2] / "protos" / "vectors" / "direct.json"
OWNER = pb.SessionHeader(session_id="0123456789abcdef" * 2, secret=bytes(range(16)))
LIMIT = 2**28

FEW = np.array([0.5, -0.0, 1e-3, 3.0], np.float32)
MANY = np.reshape((np.arange(64 * 64) * 7 % 256).astype(np.uint8), (64, 64))
ODD = np.arange(1025, dtype="<f4")
HUGE = np.ones((256, 256), np.uint8)
#: Location and byte of the vectors whose attachments are encoded.
COMPRESSED, DIFFERENCES = (ENCODED + 1, 1), (ENCODED + 2, 3)
ENCODERS = {"step, compressed": COMPRESSED, "step, differences": DIFFERENCES}


def sent_by_client(message: bytes, *, first: bool = False) -> bytes:
    """Returns the bytes that a client sends."""
    ours, theirs = socket.socketpair()
    with theirs:
        channel = ClientChannel(ours)
        if first:
            ours.sendall(PREAMBLE)
        channel.send(message, 10.0)
        channel.close()
        return b"".join(iter(lambda: theirs.recv(65536), b""))


def sent_by_server(
    packet: Packet | None,
    shared: SharedSlots | None = None,
    boxes: Boxes | None = None,
    encoder: Any = None,
) -> bytes:
    """Returns the bytes that a session sends: an answer, or its welcome."""
    ours, theirs = socket.socketpair()
    with theirs:
        channel = ServerChannel(ours, LIMIT, shared, boxes)
        channel.encoder = encoder
        if packet is None:
            channel.welcome(LIMIT)
        else:
            channel.send(packet)
        channel.close()
        return b"".join(iter(lambda: theirs.recv(65536), b""))


class Repeated:
    """Encodes attachments that are one byte, many times, as frames that every library writes alike: by hand."""

    def __init__(self, location: int, byte: int) -> None:
        self._location, self._byte = location, byte

    def encode(self, attachments: Attachments) -> tuple[int, bytes]:
        # One segment, whose size follows in four bytes; then its last block, a byte and how often.
        size = attachments.length
        block = (1 | 1 << 1 | size << 3).to_bytes(3, "little") + bytes([self._byte])
        return self._location, b"\x28\xb5\x2f\xfd\xa0" + size.to_bytes(4, "little") + block


def slots(taken: int = 0) -> SharedSlots:
    """Returns memory of three slots, of which some are taken."""
    made = SharedSlots(3, 65536)
    for _ in range(taken):
        attachments = Attachments()
        attachments.add(HUGE)
        made.put(attachments)
    return made


def reset_request() -> bytes:
    request = pb.InteractRequest(reset=pb.ResetRequest(sequence=1))
    encode_value(42, request.reset.seed)
    return request.SerializeToString()


def replay_request() -> bytes:
    """Returns a recording of two members, the second of which begins with the second request."""
    replay = pb.ReplayRequest(sequence=1, unseen=[0, 1])
    replay.requests.extend([reset_request(), step_request()])
    replay.member_starts.add(member=0, position=0)
    second = replay.member_starts.add(member=1, position=1)
    encode_random_state(np.random.Generator(np.random.PCG64(7)), second.np_random)
    return pb.InteractRequest(replay=replay).SerializeToString()


def close_request() -> bytes:
    return pb.InteractRequest(close=pb.CloseRequest(sequence=3)).SerializeToString()


def step_request() -> bytes:
    written = StepRequestWriter().write(2, 1)
    assert written is not None
    return written


def reset_answer(observation: Any, info: dict[str, Any]) -> Packet:
    attachments, response = Attachments(), pb.InteractResponse()
    encode_value(observation, response.reset.observation, attachments=attachments)
    response.reset.info.SetInParent()
    encode_mapping(info, response.reset.info, attachments=attachments)
    return Packet(response.SerializeToString(), attachments)


def step_answer(observation: Any) -> Packet:
    attachments = Attachments()
    written = StepResponseWriter().write((observation, 1.0, False, True, {}), attachments)
    assert written is not None
    return Packet(written, attachments)


def member_reset_answer() -> Packet:
    response = pb.InteractResponse.FromString(step_answer(FEW).message)
    told = response.step.member_resets.add(member=1)
    encode_random_state(np.random.Generator(np.random.PCG64(7)), told.np_random)
    return Packet(response.SerializeToString())


def error(reason: Reason, text: str, **metadata: str) -> Any:
    response = pb.InteractResponse()
    encode_fault(FaultError(reason, text, metadata=metadata), response.error)
    return response


def refusal() -> bytes:
    response = direct_pb2.HelloResponse(
        error=error(Reason.UNKNOWN_SESSION, "no such session").error
    )
    message = response.SerializeToString()
    return HEADER.pack(len(message), 0, 0) + message


def gap() -> Packet:
    return Packet(error(Reason.SEQUENCE_GAP, "2 is next", expected="2").SerializeToString())


HELLO = direct_pb2.HelloRequest(header=OWNER, shared_memory=True)
CLOSED = pb.InteractResponse(close=pb.CloseResponse())


def described(
    name: str, meaning: str, holds: type[Message], raw: bytes, attachments: Any = ()
) -> dict[str, Any]:
    """Returns one vector: the bytes, and all that is to be read from them."""
    start = len(PREAMBLE) if raw.startswith(PREAMBLE) else 0
    length, where, attached = HEADER.unpack_from(raw, start)
    begin = start + HEADER_BYTES
    message = holds.FromString(raw[begin : begin + length])
    return {
        "name": name,
        "meaning": meaning,
        "holds": holds.DESCRIPTOR.name,
        "header": [length, where, attached],
        "message": text_format.MessageToString(
            message,
            as_one_line=True,
            descriptor_pool=DescriptorPool(),  # whoever knows ErrorInfo would print what is in it
        ),
        "arrays": [
            {
                "offset": offset,
                "bytes": array.nbytes,
                "shape": list(array.shape),
                "type": array.dtype.name,
            }
            for offset, array in attachments
        ],
        "hex": raw.hex(),
    }


def vectors() -> list[dict[str, Any]]:
    """Returns all vectors."""
    return [*_opening(), *_requests(), *_answers()]


def _opening() -> Iterator[dict[str, Any]]:
    hello, answer = direct_pb2.HelloRequest, direct_pb2.HelloResponse
    first = sent_by_client(HELLO.SerializeToString(), first=True)
    yield described("hello", "The client begins: preamble and hello.", hello, first)
    yield described("welcome", "The channel is open.", answer, sent_by_server(None))
    meaning = "It is open; a descriptor comes with the first byte."
    yield described("welcome with memory", meaning, answer, sent_by_server(None, slots()))
    meaning = "It is open; the descriptor of a mailbox comes with the first byte."
    with_mailbox = sent_by_server(None, boxes=Boxes())
    yield described("welcome with mailbox", meaning, answer, with_mailbox)
    meaning = "It is open; the server may encode attachments."
    with_encodings = sent_by_server(None, encoder=Repeated(*COMPRESSED))
    yield described("welcome with encodings", meaning, answer, with_encodings)
    meaning = "It is not open; the server closes the connection."
    yield described("refusal", meaning, answer, refusal())


def _requests() -> Iterator[dict[str, Any]]:
    for name, raw in (
        ("reset", reset_request()),
        ("step", step_request()),
        ("close", close_request()),
        ("replay of members", replay_request()),
    ):
        yield described(name, f"A {name}.", pb.InteractRequest, sent_by_client(raw))


_ANSWERS: tuple[tuple[str, str, Callable[[], Packet], list[tuple[int, Any]]], ...] = (
    (
        "reset, inline",
        "A small observation is in the message.",
        lambda: reset_answer(FEW, {"lives": 3}),
        [],
    ),
    (
        "reset, attached",
        "A large observation follows the message, then an array of the info; 60 bytes are between them.",
        lambda: reset_answer(ODD, {"mask": MANY}),
        [(0, ODD), (4160, MANY)],
    ),
    (
        "step, inline",
        "A small observation is in the message; the step truncated the episode.",
        lambda: step_answer(FEW),
        [],
    ),
    (
        "step, attached",
        "A large observation follows the message.",
        lambda: step_answer(MANY),
        [(0, MANY)],
    ),
    (
        "step, in memory",
        "A larger one is in slot 3 of the shared memory; nothing follows the message.",
        lambda: step_answer(HUGE),
        [(0, HUGE)],
    ),
    (
        "step, compressed",
        "A large observation follows the message as a Zstandard frame; its elements are 1.",
        lambda: step_answer(HUGE),
        [(0, HUGE)],
    ),
    (
        "step, differences",
        "Another follows as the exclusive or with the one before; its elements are 2.",
        lambda: step_answer(2 * HUGE),
        [(0, HUGE)],
    ),
    (
        "step, member reset",
        "A member of a vector environment was reset in this step; its generator's state before is told.",
        member_reset_answer,
        [],
    ),
    ("error", "A request had the wrong number.", gap, []),
    (
        "closed",
        "The session is over; the server closes the connection.",
        lambda: Packet(CLOSED.SerializeToString()),
        [],
    ),
)


def _answers() -> Iterator[dict[str, Any]]:
    for name, meaning, packet, arrays in _ANSWERS:
        shared = slots(taken=2) if name == "step, in memory" else None
        encoder = Repeated(*ENCODERS[name]) if name in ENCODERS else None
        raw = sent_by_server(packet(), shared, encoder=encoder)
        yield described(name, meaning, pb.InteractResponse, raw, arrays)


def text() -> str:
    """Returns the file."""
    return json.dumps(vectors(), indent=1) + "\n"


if __name__ == "__main__":
    PATH.parent.mkdir(exist_ok=True)
    PATH.write_text(text())
