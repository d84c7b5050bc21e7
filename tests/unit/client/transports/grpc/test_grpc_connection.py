"""The state of a server after a failed call follows from gRPC's code and text."""

from __future__ import annotations

import time
from unittest.mock import create_autospec

import grpc
import pytest

from envwire.client._transports.grpc.grpc_connection import GrpcConnection
from envwire.client._transports.targets import ConnectWait
from envwire.client.credentials import Credentials
from envwire.client.errors import ServerUnavailableError


@pytest.mark.parametrize(
    ("details", "connected"),
    [
        ("failed to connect to all addresses", False),
        ("Received http2 header with status: 502", False),
        ("Received http2 header with status: 503", False),
        ("Received http2 header with status: 504", True),
        ("Socket closed", True),
    ],
)
def test_a_proxy_that_finds_no_server_is_no_connection(details: str, connected: bool) -> None:
    error = create_autospec(grpc.Call, instance=True)
    error.code.return_value = grpc.StatusCode.UNAVAILABLE
    error.details.return_value = details
    connection = create_autospec(GrpcConnection, instance=True)
    connection.target, connection._proxy = "localhost:50051", None
    failure = GrpcConnection.failure(connection, error, 1.0)
    assert isinstance(failure, ServerUnavailableError)
    assert failure.connected is connected


def test_a_last_attempt_without_time_does_not_hide_that_the_others_were_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refusal = "failed to connect to all addresses; last error: connection refused"

    def missing(_: GrpcConnection, deadline: float) -> str:
        left = deadline - time.monotonic()
        time.sleep(max(0.0, min(left, 0.01)))
        return refusal if left > 0.01 else "Deadline Exceeded"

    monkeypatch.setattr(GrpcConnection, "_missing", missing)
    with pytest.raises(ServerUnavailableError, match="nothing listens"):
        GrpcConnection("127.0.0.1:1", ConnectWait(0.05, refused=True), Credentials())
    refusal = "Socket closed"
    with pytest.raises(ServerUnavailableError, match="no server answers"):
        GrpcConnection("127.0.0.1:1", ConnectWait(0.05, refused=True), Credentials())
