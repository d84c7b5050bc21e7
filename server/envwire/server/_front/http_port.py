"""The HTTP port of operators: `/livez`, `/readyz` and `/metrics`.

It speaks HTTP/1.1 and answers GET on these paths: one request per connection, bounded in size, time and number. So a
peer that says nothing, or never ends what it says, does not keep a probe of another peer from its answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncGenerator, Callable, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple

from envwire.codec import FaultError, Reason
from envwire.server._auth.access import Access, PeerIdentity
from envwire.server._auth.reloading import server_tls
from envwire.server._front.ports import Acceptor, Bounds, cannot_bind
from envwire.server._settings.listening import Listening

if TYPE_CHECKING:
    from prometheus_client.registry import Collector


#: Seconds for a request, the TLS handshake included, and for its answer.
_SECONDS = 5.0
_BOUNDS = Bounds(of_all=64, of_a_peer=8)
_MAX_HEAD_BYTES = 8192


class Page(NamedTuple):
    """An HTTP response."""

    body: bytes
    status: HTTPStatus = HTTPStatus.OK
    content_type: str = "text/plain; charset=utf-8"


#: The handler for each path, called with the peer. A FaultError is answered with its text.
Routes = Mapping[str, Callable[[PeerIdentity], Page]]

_STATUSES = {
    Reason.UNAUTHENTICATED: HTTPStatus.UNAUTHORIZED,
    Reason.SCOPE_MISSING: HTTPStatus.FORBIDDEN,
}


def operations(access: Access, ready: Callable[[], bool], collector: Collector) -> Routes:
    """Returns the routes. Health is public; metrics need scope `observe` on a server with tokens.

    Args:
        access: Identifies callers.
        ready: Returns whether Makes are accepted.
        collector: Collects the metrics.
    """
    # Imported here, since most servers have no HTTP port.
    from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
    from prometheus_client.process_collector import ProcessCollector

    registry = CollectorRegistry()
    registry.register(collector)
    ProcessCollector(registry=registry)

    def livez(_: PeerIdentity) -> Page:
        return Page(b"ok\n")

    def readyz(_: PeerIdentity) -> Page:
        return Page(b"ok\n") if ready() else Page(b"draining\n", HTTPStatus.SERVICE_UNAVAILABLE)

    def metrics(peer: PeerIdentity) -> Page:
        access.identify(peer).check("metrics")
        return Page(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)

    return {"/livez": livez, "/readyz": readyz, "/metrics": metrics}


@contextlib.asynccontextmanager
async def http_port(
    config: Listening, port: int, routes: Callable[[], Routes]
) -> AsyncGenerator[None]:
    """Serves routes on a port of the server's address, with its certificate if it has one.

    Args:
        config: Settings of the address.
        port: The port; 0 for none.
        routes: Returns the routes; called only if there is a port.

    Raises:
        OSError: The port cannot be bound.
    """
    if not port:
        yield
        return
    acceptor = Acceptor(_Connections(routes(), _context(config)).serve, _BOUNDS)
    try:
        try:
            for listener in await _bound(config.host, port):
                acceptor.listen(listener)
        except OSError as error:
            raise cannot_bind(config.host, port, "--http-port", error, "none") from error
        yield
    finally:
        acceptor.stop()


async def _bound(host: str, port: int) -> list[socket.socket]:
    """Returns a socket for each address of a host."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    with contextlib.ExitStack() as stack:
        listeners = [
            stack.enter_context(socket.create_server(address[:2], family=family))
            for family, _, _, _, address in dict.fromkeys(found)
        ]
        stack.pop_all()
    return listeners


def _context(config: Listening) -> ssl.SSLContext | None:
    """Returns a TLS context that looks up the certificates anew for each connection."""
    tls = server_tls(config)
    if tls is None:
        return None
    context = tls.get().context

    def renew(connection: ssl.SSLObject, _: str | None, __: ssl.SSLContext) -> None:
        connection.context = tls.get().context

    context.sni_callback = renew
    return context


class _Connections:
    """Answers the requests of a port's connections.

    Args:
        routes: The pages.
        context: The certificates; None without TLS.
    """

    def __init__(self, routes: Routes, context: ssl.SSLContext | None) -> None:
        self._routes = routes
        self._context = context

    async def serve(self, connection: socket.socket) -> None:
        """Answers one request; disconnects a peer that is slow or sends no valid request."""
        with contextlib.suppress(
            OSError, asyncio.TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError
        ):
            reader, writer = await asyncio.wait_for(self._opened(connection), _SECONDS)
            try:
                head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _SECONDS)
                writer.write(self._answer(head, writer.get_extra_info("peername")))
                writer.close()
                # A peer that does not read the answer counts until it is cut off.
                await asyncio.wait_for(writer.wait_closed(), _SECONDS)
            finally:
                writer.transport.abort()

    async def _opened(
        self, connection: socket.socket
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(_MAX_HEAD_BYTES)
        protocol = asyncio.StreamReaderProtocol(reader)
        try:
            transport, _ = await loop.connect_accepted_socket(
                lambda: protocol, connection, ssl=self._context
            )
        except BaseException:
            connection.close()
            raise
        return reader, asyncio.StreamWriter(transport, protocol, reader, loop)

    def _answer(self, head: bytes, peer: Any) -> bytes:
        line, *lines = head.decode("latin-1").split("\r\n")
        method, path = [*line.split(" "), "", ""][:2]
        headers = {
            name.lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)
        }
        address, authorization = str(peer[0]) if peer else "", headers.get("authorization", "")
        shown = PeerIdentity(address, authorization=authorization)
        page = self._page(method, path.partition("?")[0], shown)
        return _written(page, with_body=method != "HEAD")

    def _page(self, method: str, path: str, peer: PeerIdentity) -> Page:
        route = self._routes.get(path)
        if route is None:
            return Page(f"there is {', '.join(self._routes)}\n".encode(), HTTPStatus.NOT_FOUND)
        if method not in {"GET", "HEAD"}:
            return Page(b"use GET\n", HTTPStatus.METHOD_NOT_ALLOWED)
        try:
            return route(peer)
        except FaultError as fault:
            return Page(f"{fault}\n".encode(), _STATUSES.get(fault.reason, HTTPStatus.BAD_REQUEST))


def _written(page: Page, *, with_body: bool) -> bytes:
    lines = [
        f"HTTP/1.1 {page.status.value} {page.status.phrase}",
        f"Content-Type: {page.content_type}",
        f"Content-Length: {len(page.body)}",
        "Connection: close",
        "Cache-Control: no-store",
        "X-Content-Type-Options: nosniff",
    ]
    if page.status is HTTPStatus.UNAUTHORIZED:
        lines.append("WWW-Authenticate: Bearer")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + (page.body if with_body else b"")
