"""How long a TLS handshake with the gRPC port may take."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest

from envwire.server._front.grpc import edge
from envwire.server.config import ServerConfig
from tests.secured import certificates


def test_half_a_handshake_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edge, "_HANDSHAKE_MS", 200)
    files = certificates().server()
    pair = Path(files["tls_key"]).read_bytes(), Path(files["tls_cert"]).read_bytes()
    server: Any = grpc.server(ThreadPoolExecutor(1), options=edge.options(ServerConfig(("x",))))
    port: int = server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([pair]))
    server.start()
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=60.0) as stranger:
            stranger.sendall(b"\x16\x03\x01\x02\x00\x01")
            assert stranger.recv(1) == b""
    finally:
        server.stop(None).wait()
