"""The direct channel is what docs/protocol.md says: its vectors are today's bytes, and a stranger can speak it."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from typing import Any

import grpc
import numpy as np
import pytest
from google.protobuf import text_format

import envwire.envs as gym
from envwire.codec import Reason, decode_fault, encode_value, envwire_family
from envwire.conformance.raw.direct_link import HEADER
from envwire.server import Server
from envwire.server._front.control_service import CAPABILITIES
from envwire.v1 import direct_pb2, environment_pb2_grpc
from envwire.v1 import environment_pb2 as pb
from tests.direct.conftest import SETTINGS
from tests.direct.hosted_frames import FRAMES
from tests.direct.stranger import Stranger, elements
from tests.direct.vectors import PATH, text
from tests.unit.docs.test_protocol_doc import codes, table

#: Locations of attachments that follow their message encoded.
ENCODED = (1 << 31 | 1, 1 << 31 | 2)
VECTORS: list[dict[str, Any]] = json.loads(PATH.read_text(encoding="utf-8"))


def test_the_file_is_what_the_code_sends() -> None:
    assert PATH.read_text(encoding="utf-8") == text(), (
        "python -m tests.direct.vectors writes it anew"
    )


def test_the_page_names_every_vector() -> None:
    assert [codes(row[0])[0] for row in table("vector")[1:]] == [
        vector["name"] for vector in VECTORS
    ]


def test_the_table_of_capabilities_is_the_servers() -> None:
    assert [codes(row[0])[0] for row in table("capability")[1:]] == list(CAPABILITIES)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_a_stranger_reads_the_vectors(vector: dict[str, Any]) -> None:
    raw = bytes.fromhex(vector["hex"]).removeprefix(b"envwire\x01")
    length, where, attached = HEADER.unpack_from(raw)
    assert [length, where, attached] == vector["header"]
    assert len(raw) == HEADER.size + length + (attached if where in {0, *ENCODED} else 0)
    holds = getattr(direct_pb2, vector["holds"], None) or getattr(pb, vector["holds"])
    message = holds.FromString(raw[HEADER.size : HEADER.size + length])
    assert message == text_format.Parse(vector["message"], holds())
    assert [array["offset"] % 64 for array in vector["arrays"]] == [0] * len(vector["arrays"])


def test_attached_arrays_are_where_they_are_said_to_be() -> None:
    (vector,) = (vector for vector in VECTORS if vector["name"] == "reset, attached")
    raw = bytes.fromhex(vector["hex"])
    attached = raw[HEADER.size + vector["header"][0] :]
    message = pb.InteractResponse.FromString(raw[HEADER.size : HEADER.size + vector["header"][0]])
    observation = message.reset.observation.array
    mask = message.reset.info.entries[0].value.array
    assert elements(observation, attached) == np.arange(1025, dtype="<f4").tobytes()
    assert elements(mask, attached) == (np.arange(4096) * 7 % 256).astype(np.uint8).tobytes()
    assert attached[4100:4160] == bytes(60)


def test_encoded_arrays_are_what_they_are_said_to_be() -> None:
    zstandard = pytest.importorskip("zstandard")
    found = {vector["name"]: bytes.fromhex(vector["hex"]) for vector in VECTORS}
    first, second = (
        zstandard.ZstdDecompressor().decompress(raw[HEADER.size + HEADER.unpack_from(raw)[0] :])
        for raw in (found["step, compressed"], found["step, differences"])
    )
    assert first == bytes([1]) * 256 * 256
    assert bytes(map(int.__xor__, first, second)) == bytes([2]) * 256 * 256


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server(["CartPole-v1", "direct/*"], shared_memory=2**22, **SETTINGS) as running:
        yield running


def make(server: Server, env_id: str, **kwargs: Any) -> pb.MakeResponse:
    request = pb.MakeRequest(env_id=env_id)
    for name, value in kwargs.items():
        encode_value(value, request.kwargs.entries.add(name=name).value)
    with grpc.insecure_channel(server.target) as channel:
        return environment_pb2_grpc.EnvironmentServiceStub(channel).Make(request, timeout=30.0)


def at(made: pb.MakeResponse, kind: str) -> str:
    return next(address for address in made.direct.addresses if address.startswith(kind))


KINDS = pytest.mark.parametrize("kind", [":", "unix-abstract:"])


@KINDS
def test_a_stranger_plays_an_episode(server: Server, kind: str) -> None:
    made = make(server, "CartPole-v1")
    there, local = Stranger(made, at(made, kind)), gym.make("CartPole-v1")
    answer, _ = there.ask("reset", 1, seed={"int_value": 42})
    expected = local.reset(seed=42)[0]
    assert struct.unpack("<4f", answer.reset.observation.array.data) == tuple(expected)
    for number in range(2, 12):
        answer, _ = there.ask("step", number, action={"int_value": number % 2})
        result = local.step(number % 2)
        assert answer.step.observation.array.data == np.asarray(result[0]).tobytes()
        assert (answer.step.reward, answer.step.terminated) == (result[1], result[2])
    assert "12 is next" in there.ask("step", 99, action={"int_value": 0})[0].error.message
    assert there.ask("close", 12)[0].HasField("close")
    with pytest.raises(ConnectionError):
        there.ask("reset", 13)
    there.close()


@pytest.mark.parametrize(
    ("shape", "shared"), [((40, 200), False), ((256, 300), False), ((256, 300), True)]
)
def test_a_stranger_gets_large_frames(server: Server, shape: Any, shared: bool) -> None:
    made = make(server, FRAMES, shape=shape)
    there, local = Stranger(made, at(made, "unix"), shared), gym.make(FRAMES, shape=shape)
    assert there.shares_memory == shared
    answer, attached = there.ask("reset", 1, seed={"int_value": 1})
    assert elements(answer.reset.observation.array, attached) == local.reset(seed=1)[0].tobytes()
    for number in range(2, 15):  # more than there are slots
        answer, attached = there.ask("step", number, action={"int_value": 1})
        assert elements(answer.step.observation.array, attached) == local.step(1)[0].tobytes()
    there.ask("close", 15)
    there.close()


@KINDS
def test_a_stranger_comes_back_and_repeats_its_request(server: Server, kind: str) -> None:
    made = make(server, FRAMES)
    first = Stranger(made, at(made, kind))
    first.ask("reset", 1)
    seen = first.ask("step", 2, action={"int_value": 1})
    second = Stranger(made, at(made, kind))
    with pytest.raises(ConnectionError):
        first.ask("step", 3, action={"int_value": 1})
    assert second.ask("step", 2, action={"int_value": 1}) == seen
    assert second.ask("step", 3, action={"int_value": 1})[0].step.reward == 21.0
    second.ask("close", 4)
    third = Stranger(made, at(made, kind))
    assert "was closed" in third.hello.error.message
    for each in (first, second, third):
        each.close()


@pytest.mark.parametrize("kind", ["step", "close"])
def test_a_request_with_a_header_is_refused_and_uses_no_number(server: Server, kind: str) -> None:
    made = make(server, FRAMES)
    stranger = Stranger(made, at(made, ":"))
    stranger.ask("reset", 1)
    owner = pb.SessionHeader(session_id=made.session_id, secret=made.secret)
    error = stranger.ask(kind, 2, header=owner)[0].error
    assert decode_fault(error, envwire_family()).reason is Reason.MALFORMED_REQUEST
    assert stranger.ask("close", 2)[0].HasField("close")
    stranger.close()


def test_a_wrong_secret_is_refused(server: Server) -> None:
    made = make(server, FRAMES)
    made.secret = bytes(16)
    stranger = Stranger(made, at(made, ":"))
    assert "wrong secret" in stranger.hello.error.message
    stranger.close()
