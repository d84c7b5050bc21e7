"""Makes with a ticket go nowhere that a token would not be sent to."""

from __future__ import annotations

from typing import Any

import pytest

from envwire.client import Credentials
from envwire.client._transports.grpc import tickets
from envwire.farm.v1 import farm_pb2
from envwire.v1 import environment_pb2 as pb

TRACE = (("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),)
MAKE = pb.MakeRequest(env_id="CartPole-v1").SerializeToString()


class Gateway:
    """Stands for the connection to a gateway."""

    def __init__(self, *capabilities: str, **credentials: Any) -> None:
        self.capabilities = frozenset(capabilities)
        given: dict[str, Any] = {"ca": None, "cert": None, "key": None, "token": "t", **credentials}
        self.credentials = Credentials(**given)
        self.metadata = (*(self.credentials.metadata or ()), ("x-key", "secret"), *TRACE)


@pytest.fixture
def dialled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Has all gateways allocate at a server far away; returns what is dialled there."""
    found: list[str] = []

    def dial(target: str, *_: object) -> None:
        found.append(target)
        raise tickets.RemoteError("nobody")

    far = farm_pb2.Allocation(address="203.0.113.7:1", ticket=b"ticket")
    monkeypatch.setattr(tickets, "_allocate", lambda *_: far)
    monkeypatch.setattr(tickets, "Connection", dial)
    return found


def make(gateway: Any) -> None:
    assert tickets.make_with_ticket(gateway, MAKE, 1.0) is None


def test_a_session_is_not_made_in_the_clear_for_a_client_with_a_token(dialled: list[str]) -> None:
    make(Gateway(tickets.CAPABILITY))
    assert dialled == []
    make(Gateway(tickets.CAPABILITY, insecure=True))
    make(Gateway(tickets.CAPABILITY, token=None))
    assert dialled == ["203.0.113.7:1"] * 2


def test_what_is_no_gateway_is_not_asked(dialled: list[str]) -> None:
    make(Gateway("interact", token=None))
    assert dialled == []


def test_a_ticket_takes_the_place_of_the_token_and_the_trace_goes_on() -> None:
    gateway: Any = Gateway(ca=b"ca")
    credentials = tickets._with_ticket(gateway, b"ticket")
    assert credentials.metadata == (("envwire-ticket-bin", b"ticket"), *TRACE)
    assert credentials.token is None
    assert (credentials.ca, credentials.secure) == (b"ca", True)
    assert "ticket'" not in repr(credentials)
