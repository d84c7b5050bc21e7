"""The proxy, with its own ports and a server behind it."""

from __future__ import annotations

from concurrent import futures
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import grpc

from envwire.conformance.proxy.backend import Backend
from envwire.conformance.proxy.behaviour import Behaviour
from envwire.conformance.proxy.direct_port import MAX_BYTES, DirectPort
from envwire.conformance.proxy.grpc_port import GrpcPort

if TYPE_CHECKING:
    from typing_extensions import Self

#: Most calls and streams that are served at the same time.
_THREADS = 64


@dataclass(frozen=True)
class Certificate:
    """A certificate of a proxy.

    Attributes:
        ca: PEM file of the authority that issued it.
        cert: The certificate, as PEM.
        key: Its key, as PEM.
    """

    ca: Path
    cert: bytes
    key: bytes


class Proxy:
    """A server on loopback that forwards requests to another server; runs during a `with` block.

    Args:
        behind: HOST:PORT of the other server.
        behaviour: What the proxy does to requests and answers.
        certificate: That of its gRPC port, where the behaviour asks for TLS.

    Attributes:
        target: HOST:PORT of the proxy.
    """

    def __init__(
        self, behind: str, behaviour: Behaviour, certificate: Certificate | None = None
    ) -> None:
        self._backend = Backend(behind, behaviour)
        self._direct = DirectPort(self._backend)
        self._backend.direct_port = self._direct.port
        self._server = grpc.server(
            futures.ThreadPoolExecutor(_THREADS),
            handlers=[GrpcPort(self._backend)],
            options=[
                ("grpc.max_receive_message_length", MAX_BYTES),
                ("grpc.max_send_message_length", -1),
                ("grpc.so_reuseport", 0),
            ],
        )
        address = f"{behaviour.host}:0"
        if behaviour.tls and certificate is not None:
            credentials = grpc.ssl_server_credentials([(certificate.key, certificate.cert)])
            port = self._server.add_secure_port(address, credentials)
        else:
            port = self._server.add_insecure_port(address)
        self.target = f"{behaviour.host}:{port}"

    def __enter__(self) -> Self:
        self._direct.start()
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop(0).wait(5.0)
        self._direct.stop()
        self._backend.close()
