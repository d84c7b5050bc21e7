"""What a call that failed says of the server is read from gRPC's code and text."""

from __future__ import annotations

from unittest.mock import create_autospec

import grpc
import pytest

from envwire.client._transports.grpc.grpc_connection import Connection
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
    connection = create_autospec(Connection, instance=True)
    connection.target = "localhost:50051"
    failure = Connection.failure(connection, error, 1.0)
    assert isinstance(failure, ServerUnavailableError)
    assert failure.connected is connected
