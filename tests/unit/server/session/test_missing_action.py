"""A step without an action is refused, and uses its number up."""

from __future__ import annotations

from envwire.client._transports.transport import call
from envwire.server import InProcessTransport
from envwire.v1 import environment_pb2 as pb


def test_a_step_without_an_action() -> None:
    server = InProcessTransport(["CartPole-v1"])
    made = call(server, pb.InteractRequest(make=pb.MakeRequest(env_id="CartPole-v1")), 5.0).make
    owner = pb.SessionHeader(session_id=made.session_id, secret=made.secret)

    def ask(sequence: int) -> str:
        step = pb.StepRequest(header=owner, sequence=sequence)
        return str(call(server, pb.InteractRequest(step=step), 5.0).error)

    assert "INVALID_VALUE" in ask(1)
    assert "INVALID_VALUE" in ask(1)
    assert "INVALID_VALUE" in ask(2)
    assert "SEQUENCE_GAP" in ask(4)
    server.close_sessions()
