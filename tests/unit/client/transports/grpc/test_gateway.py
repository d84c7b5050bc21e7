"""Makes with a ticket go nowhere that a token would not be sent to."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import grpc
import pytest

from envwire.client import Credentials
from envwire.client._transports.grpc import gateway
from envwire.farm.v1 import farm_pb2
from envwire.v1 import environment_pb2 as pb

TRACE = (("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),)
MAKE = pb.MakeRequest(env_id="CartPole-v1").SerializeToString()


class Gateway:
    """Stands for the connection to a gateway."""

    def __init__(self, *capabilities: str, **credentials: Any) -> None:
        self.info = pb.GetServerInfoResponse(capabilities=capabilities)
        given: dict[str, Any] = {"ca": None, "cert": None, "key": None, "token": "t", **credentials}
        self.credentials = Credentials(**given)
        self.metadata = (*(self.credentials.metadata or ()), ("x-key", "secret"), *TRACE)


@pytest.fixture
def dialled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Makes all gateways allocate at a remote server; returns the dialled addresses."""
    found: list[str] = []

    def dial(target: str, *_: object) -> None:
        found.append(target)
        raise gateway.RemoteError("nobody")

    far = farm_pb2.Allocation(address="203.0.113.7:1", ticket=b"ticket")
    monkeypatch.setattr(gateway, "_allocate", lambda *_: far)
    monkeypatch.setattr(gateway, "GrpcConnection", dial)
    return found


def make(connection: Any) -> None:
    assert gateway.make_with_ticket(connection, MAKE, 1.0) is None


def test_a_session_is_not_made_in_the_clear_for_a_client_with_a_token(dialled: list[str]) -> None:
    make(Gateway(gateway.CAPABILITY))
    assert dialled == []
    make(Gateway(gateway.CAPABILITY, insecure=True))
    make(Gateway(gateway.CAPABILITY, token=None))
    assert dialled == ["203.0.113.7:1"] * 2


def test_what_is_no_gateway_is_not_asked(dialled: list[str]) -> None:
    make(Gateway("interact", token=None))
    assert dialled == []


def test_a_ticket_takes_the_place_of_the_token_and_the_trace_goes_on() -> None:
    connection: Any = Gateway(ca=b"ca")
    credentials = gateway._with_ticket(connection, b"ticket")
    assert credentials.metadata == (("envwire-ticket-bin", b"ticket"), *TRACE)
    assert credentials.token is None
    assert (credentials.ca, credentials.secure) == (b"ca", True)
    assert "ticket'" not in repr(credentials)


@grpc.Call.register
class CutError(grpc.RpcError):
    """What gRPC raises for a connection that breaks."""

    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.UNAVAILABLE

    def details(self) -> str:
        return "Socket closed"

    def trailing_metadata(self) -> tuple[()]:
        return ()


class Ended:
    """A call that has its answer, or its error."""

    def __init__(self, answer: bytes | Exception) -> None:
        self._answer = answer

    def exception(self, _: float) -> Exception | None:
        return self._answer if isinstance(self._answer, Exception) else None

    def result(self) -> bytes:
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer

    def cancel(self) -> None:
        """Nothing is left to cancel."""


def test_a_make_whose_answer_is_lost_is_repeated_at_the_server_that_may_have_made_it() -> None:
    answers: list[Any] = [CutError(), pb.MakeResponse(session_id="s").SerializeToString()]
    asked: list[bytes] = []

    class Server:
        target, metadata = "127.0.0.1:1", ()

        def __init__(self) -> None:
            self.channel = self
            self.in_use = threading.Lock()

        def unary_unary(self, path: str) -> Any:
            assert path.endswith("/Make")
            return SimpleNamespace(future=self.make)

        def make(self, message: bytes, **_: Any) -> Ended:
            asked.append(message)
            return Ended(answers.pop(0))

        def failure(self, error: object, _: float) -> object:
            return error

    server: Any = Server()
    reply = gateway._make(server, MAKE, 1.0)
    assert reply is not None
    made = pb.InteractResponse.FromString(reply.message).make
    assert (made.session_id, made.address) == ("s", server.target)
    assert asked == [MAKE, MAKE]
    answers[:] = [CutError(), CutError()]
    assert gateway._make(server, MAKE, 1.0) is None, "the gateway may know another"
