"""What all gRPC ports share: authentication, errors, limits and certificates."""

from __future__ import annotations

import logging
from typing import Any, NoReturn
from urllib.parse import unquote

import grpc
import grpc.aio

from envwire.codec import FaultError
from envwire.server._auth.access import PeerIdentity
from envwire.server._auth.tls import Certificates, ServerTls
from envwire.server._front.ports import check_free
from envwire.server._ipc.fault_replies import fault_reply
from envwire.server._logs.fields import extra
from envwire.server._settings.listening import Listening
from envwire.v1 import status_pb2

_log = logging.getLogger("envwire.server")

#: Trailing metadata in which a call that fails carries its ErrorStatus.
STATUS_KEY = "grpc-status-details-bin"
#: Metadata of a client that comes from a farm's gateway.
RESERVATION_KEY, TICKET_KEY = "envwire-reservation-bin", "envwire-ticket-bin"
_CODES: dict[int, grpc.StatusCode] = {code.value[0]: code for code in grpc.StatusCode}

#: Time between pings to a silent client, and time to wait for the answer. A dead client is detected after their sum.
_KEEPALIVE_MS, _KEEPALIVE_TIMEOUT_MS = 20_000, 10_000

Context = grpc.aio.ServicerContext[bytes, bytes]


def options(config: Listening) -> list[tuple[str, int]]:
    """Returns the options of a port."""
    return [
        ("grpc.max_receive_message_length", config.max_message_bytes),
        ("grpc.max_send_message_length", config.max_message_bytes),
        # With this probe gRPC widens its receive windows on fast connections, before anybody is authenticated: 200
        # calls of a stranger on one connection cost 154 MiB, without it 2 MiB. The price: 1 MB to the server takes
        # 6 ms instead of 3.
        ("grpc.http2.bdp_probe", int(not config.tokens)),
        ("grpc.so_reuseport", 0),  # otherwise two servers could bind the same port silently
        ("grpc.keepalive_time_ms", _KEEPALIVE_MS),
        ("grpc.keepalive_timeout_ms", _KEEPALIVE_TIMEOUT_MS),
        # On a busy connection this timeout applies, not the one above.
        ("grpc.http2.ping_timeout_ms", _KEEPALIVE_TIMEOUT_MS),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
        (
            "grpc.http2.max_ping_strikes",
            0,
        ),  # a client may keep an idle connection alive as it likes
    ]


def peer_identity(context: Context) -> PeerIdentity:
    """Returns a caller's address and certificate, and what it shows in metadata."""
    shown: dict[str, Any] = dict(context.invocation_metadata() or ())
    certificate = b"".join(context.auth_context().get("x509_subject", ()))
    peer = unquote(context.peer())
    address = "" if peer.startswith("unix") else peer.partition(":")[2].rpartition(":")[0]
    subject = certificate.decode(errors="replace")
    return PeerIdentity(
        address.strip("[]"),
        subject,
        shown.get("authorization", ""),
        shown.get(TICKET_KEY, b""),
        shown.get(RESERVATION_KEY, b""),
    )


async def turn_away(context: Context, fault: FaultError) -> NoReturn:
    """Refuses a caller."""
    peer, reason = context.peer(), fault.reason.value
    _log.info("turned away %s: %s", peer, reason, extra=extra(client=peer, reason=reason))
    await abort(context, fault_reply(fault).error)


async def abort(
    context: Context, status: status_pb2.ErrorStatus, trailer: tuple[tuple[str, bytes], ...] = ()
) -> NoReturn:
    """Ends a call with an error and trailing metadata; metadata that was set before is not sent."""
    details = ((STATUS_KEY, status.SerializeToString()), *trailer)
    code = _CODES.get(status.code, grpc.StatusCode.UNKNOWN)
    await context.abort(code, status.message[:1000], details)


class Configurations:
    """The server's certificates as gRPC asks for them: at each handshake, from its own threads, one at a time.

    A new configuration replaces the one that other handshakes may be using, and gRPC does not guard against that: a new
    one for every connection crashed the server under many handshakes. So gRPC gets a new one only after a change.
    """

    def __init__(self, tls: ServerTls) -> None:
        self._tls = tls
        self._taken = tls.certificates()

    def first(self) -> grpc.ServerCertificateConfiguration:
        """Returns the first configuration."""
        return _configuration(self._taken)

    def changed(self) -> grpc.ServerCertificateConfiguration | None:
        """Returns a new configuration; None when the certificates have not changed."""
        now = self._tls.certificates()
        if now is self._taken:
            return None
        self._taken = now
        return _configuration(now)


def _configuration(certificates: Certificates) -> grpc.ServerCertificateConfiguration:
    pair = certificates.key, certificates.cert
    return grpc.ssl_server_certificate_configuration([pair], certificates.client_ca)


def _credentials(tls: ServerTls) -> grpc.ServerCredentials:
    """Returns credentials that take the certificates anew when they have changed."""
    ours = Configurations(tls)
    changed: Any = ours.changed  # the type stubs do not allow None
    return grpc.dynamic_ssl_server_credentials(ours.first(), changed, tls.asks_clients)


def bind(server: grpc.aio.Server, config: Listening, tls: ServerTls | None) -> str:
    """Binds a server to its address; returns it as HOST:PORT.

    Raises:
        OSError: The address is taken or not this machine's.
    """
    host = f"[{config.host}]" if ":" in config.host else config.host
    address = f"{host}:{config.port}"
    check_free(config.host, config.port)
    try:
        port = (
            server.add_insecure_port(address)
            if tls is None
            else server.add_secure_port(address, _credentials(tls))
        )
    except RuntimeError as error:
        raise OSError(f"cannot bind {host}:{config.port}: {error}") from error
    return f"{host}:{port}"
