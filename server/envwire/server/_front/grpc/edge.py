"""Shared parts of all gRPC ports: authentication, errors, limits and certificates."""

from __future__ import annotations

import logging
import math
import time
from typing import Any, NoReturn
from urllib.parse import unquote

import grpc
import grpc.aio

from envwire.codec import FaultError
from envwire.codec.errors.statuses import fit_trailers
from envwire.server._auth.access import Access, PeerIdentity
from envwire.server._auth.reloading import Certificates, Reloaded, server_tls
from envwire.server._front.grpc.forwarding import PATIENCE, Forwarder, Patience, forwarded
from envwire.server._front.ports import check_free
from envwire.server._ipc.refusals import fault_reply
from envwire.server._logs import extra
from envwire.server._settings.listening import Listening
from envwire.v1 import status_pb2

_log = logging.getLogger("envwire.server")

#: Key of the trailing metadata that carries a failed call's ErrorStatus.
STATUS_KEY = "grpc-status-details-bin"
#: Keys of the metadata of a client that comes from a farm's gateway.
RESERVATION_KEY, TICKET_KEY = "envwire-reservation-bin", "envwire-ticket-bin"
_CODES: dict[int, grpc.StatusCode] = {code.value[0]: code for code in grpc.StatusCode}

#: How long a TLS handshake may take. gRPC allows 120 s, in which half a handshake takes 30 KiB.
_HANDSHAKE_MS = 10_000
#: Interval of pings to a silent client, and longest wait for their answer. A dead client is detected after their sum.
_KEEPALIVE_MS, _KEEPALIVE_TIMEOUT_MS = 20_000, 10_000
#: Seconds before its deadline, and the part of its time, in which the answer to a Make is no longer sent. The client's
#: deadline is earlier than the server's by the time that the call was on the way, and the answer takes as long: a
#: session whose answer comes too late would keep its slot until its lease ends.
_ON_THE_WAY_SECONDS, _ON_THE_WAY_PART = 0.1, 0.1

Context = grpc.aio.ServicerContext[bytes, bytes]


def options(config: Listening) -> list[tuple[str, int]]:
    """Returns the gRPC options of a port."""
    return [
        ("grpc.max_receive_message_length", config.max_message_bytes),
        ("grpc.max_send_message_length", config.max_message_bytes),
        # With this probe gRPC widens its receive windows on fast connections, even before authentication: 200
        # unauthenticated calls on one connection took 154 MiB, and 2 MiB without it. Without it, sending 1 MB to the
        # server takes 6 ms instead of 3.
        ("grpc.http2.bdp_probe", int(not config.tokens)),
        ("grpc.server_handshake_timeout_ms", _HANDSHAKE_MS),
        ("grpc.so_reuseport", 0),  # otherwise two servers could bind the same port silently
        ("grpc.keepalive_time_ms", _KEEPALIVE_MS),
        ("grpc.keepalive_timeout_ms", _KEEPALIVE_TIMEOUT_MS),
        # On a busy connection this timeout applies, not the one above.
        ("grpc.http2.ping_timeout_ms", _KEEPALIVE_TIMEOUT_MS),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
        ("grpc.http2.max_ping_strikes", 0),  # a client may ping an idle connection at any rate
    ]


def peer_identity(context: Context, access: Access) -> PeerIdentity:
    """Returns a caller's address, certificate and credentials from its metadata.

    Args:
        context: The call.
        access: Says whether callers have certificates; looking for one takes half of the time.
    """
    shown: dict[str, Any] = dict(context.invocation_metadata() or ())
    certified = access.asks_for_certificates
    subject = context.auth_context().get("x509_subject", ()) if certified else ()
    peer = unquote(context.peer())
    return PeerIdentity(
        _address(peer),
        b"".join(subject).decode(errors="replace"),
        shown.get("authorization", ""),
        shown.get(TICKET_KEY, b""),
        shown.get(RESERVATION_KEY, b""),
        forwarded(peer),
    )


def connection_of(context: Context) -> str:
    """Returns the name of a caller's connection, if that was forwarded; empty for others."""
    return forwarded(unquote(context.peer()))


def _address(peer: str) -> str:
    """Returns the address in gRPC's name of a peer; empty for a Unix socket that was not forwarded."""
    address = "" if peer.startswith("unix") else peer.partition(":")[2].rpartition(":")[0]
    return forwarded(peer).partition("/")[0] or address.strip("[]")


def answer_deadline(context: Context) -> float:
    """Returns when the answer to a Make is last sent, by the clock of the sessions."""
    left: Any = context.time_remaining()  # None without a deadline, despite its type hint
    if left is None:
        return math.inf
    on_the_way: float = min(_ON_THE_WAY_SECONDS, _ON_THE_WAY_PART * left)
    until: float = time.monotonic() + left - on_the_way
    return until


async def abort_unauthenticated(context: Context, fault: FaultError) -> NoReturn:
    """Ends a caller's call with a fault."""
    # Not by `peer_identity`: a stranger's metadata may have 20,000 fields, which gRPC converts each time.
    peer, reason = _address(unquote(context.peer())) or context.peer(), fault.reason.value
    _log.info("turned away %s: %s", peer, reason, extra=extra(client=peer, reason=reason))
    await abort(context, fault_reply(fault).error)


async def abort(
    context: Context, status: status_pb2.ErrorStatus, trailer: tuple[tuple[str, bytes], ...] = ()
) -> NoReturn:
    """Ends a call with an error and trailing metadata; metadata that was set earlier is not sent."""
    fit_trailers(status)
    details = ((STATUS_KEY, status.SerializeToString()), *trailer)
    code = _CODES.get(status.code, grpc.StatusCode.UNKNOWN)
    await context.abort(code, status.message, details)


class Configurations:
    """The server's certificates, for gRPC, which asks at each handshake, from its own threads, one at a time.

    A new configuration replaces the one that other handshakes may be using, and gRPC does not guard against that:
    returning a new one for every connection crashed the server under many handshakes. gRPC therefore gets a new one
    only after a change.
    """

    def __init__(self, tls: Reloaded[Certificates]) -> None:
        self._tls = tls
        self._taken: Certificates | None = None

    def changed(self) -> grpc.ServerCertificateConfiguration | None:
        """Returns the first configuration, then a new one each time; None if the certificates have not changed."""
        now = self._tls.get()
        if now is self._taken:
            return None
        self._taken = now
        return grpc.ssl_server_certificate_configuration([(now.key, now.cert)], now.client_ca)


def _credentials(tls: Reloaded[Certificates]) -> grpc.ServerCredentials:
    """Returns credentials that reload the certificates after a change."""
    changed: Any = Configurations(tls).changed  # the type stubs do not allow None
    return grpc.dynamic_ssl_server_credentials(changed(), changed, tls.get().client_ca is not None)


class GrpcPort:
    """The port of a gRPC server, behind a forwarder if strangers can reach it.

    Args:
        server: The server, which has its services already.
        config: The settings of the port.
        access: Identifies the callers.
        patience: How long strangers are borne.

    Raises:
        ValueError: The certificates are invalid.
        OSError: The certificates cannot be read.
    """

    def __init__(
        self,
        server: grpc.aio.Server,
        config: Listening,
        access: Access,
        patience: Patience = PATIENCE,
    ) -> None:
        self._server = server
        self._config = config
        self._tls = server_tls(config)
        strangers = config.tokens and not config.tls_client_ca and not config.loopback
        self._forwarder = Forwarder(config.host, config.port, patience) if strangers else None
        if self._forwarder is not None:
            access.on_identified = self._forwarder.admit
            access.on_answered = self._forwarder.answered

    async def start(self) -> str:
        """Binds and serves; returns the bound HOST:PORT.

        Raises:
            OSError: The address is in use or does not belong to this machine.
        """
        host = f"[{self._config.host}]" if ":" in self._config.host else self._config.host
        if self._forwarder is not None:
            self._forwarder.bind(self._add)
            await self._server.start()
            return f"{host}:{await self._forwarder.start()}"
        check_free(self._config.host, self._config.port)
        port = self._add(f"{host}:{self._config.port}")
        await self._server.start()
        return f"{host}:{port}"

    def _add(self, address: str) -> int:
        try:
            if self._tls is None:
                return self._server.add_insecure_port(address)
            return self._server.add_secure_port(address, _credentials(self._tls))
        except RuntimeError as error:
            raise OSError(f"cannot bind {address}: {error}") from error

    async def stop(self, grace: float) -> None:
        """Stops serving; open calls have `grace` seconds to end."""
        if self._forwarder is not None:
            self._forwarder.stop()
        await self._server.stop(grace)
