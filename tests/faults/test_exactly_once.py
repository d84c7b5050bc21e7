"""Every request is served exactly once: repeats get the kept reply, gaps and reuse are refused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from envwire.client._transports.by_name import open_transport
from envwire.client._transports.transport import Transport, call
from envwire.codec import decode_fault, decode_value, encode_value, envwire_family
from envwire.server import Server
from envwire.v1 import environment_pb2 as pb
from tests.faces import in_process

FAMILY = envwire_family()


class Conversation:
    """A client that may say anything."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.made = self.say(pb.InteractRequest(make=pb.MakeRequest(env_id="tests/Faulty-v0"))).make

    def say(self, request: pb.InteractRequest) -> pb.InteractResponse:
        return call(self.transport, request, 10.0)

    def reset(self, sequence: int) -> pb.InteractResponse:
        request = pb.InteractRequest()
        self._address(request.reset, sequence)
        return self.say(request)

    def step(self, sequence: int, action: int = 0) -> pb.InteractResponse:
        request = pb.InteractRequest()
        self._address(request.step, sequence)
        encode_value(action, request.step.action)
        return self.say(request)

    def close(self, sequence: int) -> pb.InteractResponse:
        request = pb.InteractRequest()
        self._address(request.close, sequence)
        return self.say(request)

    def _address(
        self, body: pb.StepRequest | pb.ResetRequest | pb.CloseRequest, sequence: int
    ) -> None:
        body.header.session_id, body.header.secret = self.made.session_id, self.made.secret
        body.sequence = sequence


@pytest.fixture(params=["unary", "stream", "in process"])
def talk(request: pytest.FixtureRequest, server: Server) -> Iterator[Conversation]:
    kind = request.param
    transport = in_process() if kind == "in process" else open_transport(kind, server.target, 5.0)
    yield Conversation(transport)
    transport.close()


def count(reply: pb.InteractResponse) -> float:
    assert reply.WhichOneof("response") == "step", reply.error.message
    return float(decode_value(reply.step.observation, FAMILY)[0])


def reason(reply: pb.InteractResponse) -> str:
    return decode_fault(reply.error, FAMILY).reason.value


def test_a_repeated_step_is_not_taken_twice(talk: Conversation) -> None:
    talk.reset(1)
    assert count(talk.step(2)) == 1.0
    assert [count(talk.step(2)) for _ in range(3)] == [1.0, 1.0, 1.0]
    assert count(talk.step(3)) == 2.0


def test_a_repeated_error_is_the_same_error(talk: Conversation) -> None:
    talk.reset(1)
    first = talk.step(2, action=1)
    assert reason(first) == "ENVIRONMENT_RAISED"
    assert talk.step(2, action=1) == first
    assert count(talk.step(3)) == 1.0


@pytest.mark.parametrize("sequence", [0, 4, 2**63])
def test_a_gap_is_refused_and_uses_no_number(talk: Conversation, sequence: int) -> None:
    talk.reset(1)
    talk.step(2)
    assert reason(talk.step(sequence)) == "SEQUENCE_GAP"
    assert count(talk.step(3)) == 2.0


def test_an_old_number_is_refused(talk: Conversation) -> None:
    talk.reset(1)
    talk.step(2)
    talk.step(3)
    assert reason(talk.step(2)) == "SEQUENCE_GAP"


def test_a_number_serves_one_request_only(talk: Conversation) -> None:
    talk.reset(1)
    talk.step(2)
    assert reason(talk.step(2, action=6)) == "SEQUENCE_REUSED"
    assert reason(talk.reset(2)) == "SEQUENCE_REUSED"


def test_closing_again_is_harmless_and_stepping_is_refused(
    talk: Conversation, request: pytest.FixtureRequest
) -> None:
    talk.reset(1)
    assert talk.close(2).HasField("close")
    if "in process" in request.node.name:
        assert reason(talk.step(3)) == "UNKNOWN_SESSION"
    else:
        assert talk.close(2).HasField("close")
        assert reason(talk.step(3)) == "SESSION_CLOSED"
