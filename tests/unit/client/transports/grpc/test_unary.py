"""The wait for an answer that gRPC never hands over, as an interrupt can leave its threads without a lock, ends."""

from __future__ import annotations

import threading
from unittest.mock import create_autospec

import grpc
import pytest

from envwire.client._transports.grpc import grpc_transports, unary
from envwire.client._transports.grpc.grpc_connection import GrpcConnection
from envwire.client._transports.targets import ConnectWait
from envwire.client.credentials import Credentials
from envwire.client.errors import RequestTimeoutError
from envwire.wire.envelope import REQUESTS


class Stuck:
    """A call whose answer its thread cannot hand over."""

    def result(self, timeout: float | None = None) -> bytes:
        """Waits for as long as it is told."""
        assert timeout is not None
        assert timeout > 2.0  # gRPC's own error says more
        raise grpc.FutureTimeoutError


def test_a_wait_for_a_thread_that_is_stuck_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    connection = create_autospec(GrpcConnection, instance=True)
    connection.channel = create_autospec(grpc.Channel, instance=True)
    connection.in_use = threading.Lock()
    connection.target, connection.metadata = "localhost:50051", ()
    connection.channel.unary_unary.return_value.future.return_value = Stuck()
    monkeypatch.setattr(grpc_transports, "GrpcConnection", lambda *_: connection)
    transport = unary.UnaryTransport(
        "localhost:50051", ConnectWait(0.0, refused=False), Credentials()
    )
    transport.send(REQUESTS.wrap("close", b""), 2.0)
    with pytest.raises(RequestTimeoutError, match="within 2 s"):
        transport.receive()
