"""The HTTP port of operators: `/livez`, `/readyz` and `/metrics`.

It speaks HTTP/1.1 and answers GET on these paths: one request per connection, bounded in size, time and number.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncGenerator, Callable, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple

from envwire.codec import FaultError, Reason
from envwire.server._auth.access import Access, PeerIdentity
from envwire.server._auth.tls import server_tls
from envwire.server._front.ports import cannot_bind
from envwire.server._settings.listening import Listening

if TYPE_CHECKING:
    from prometheus_client.registry import Collector

_SECONDS = 5.0
_MAX_CONNECTIONS = 64
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
    serving = _Connections(routes())
    try:
        server = await asyncio.start_server(
            serving.serve, config.host, port, limit=_MAX_HEAD_BYTES, ssl=_context(config)
        )
    except OSError as error:
        raise cannot_bind(config.host, port, "--http-port", error, "none") from error
    try:
        yield
    finally:
        server.close()
        serving.close()


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
    """The open connections of a port."""

    def __init__(self, routes: Routes) -> None:
        self._routes = routes
        self._open: set[asyncio.StreamWriter] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answers one request; disconnects a peer that is slow or sends no valid request."""
        if len(self._open) >= _MAX_CONNECTIONS:
            writer.transport.abort()
            return
        self._open.add(writer)
        try:
            with contextlib.suppress(
                OSError,
                asyncio.TimeoutError,
                asyncio.IncompleteReadError,
                asyncio.LimitOverrunError,
            ):
                head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _SECONDS)
                writer.write(self._answer(head, writer.get_extra_info("peername")))
                await asyncio.wait_for(writer.drain(), _SECONDS)
        finally:
            self._open.discard(writer)
            writer.close()

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

    def close(self) -> None:
        """Closes all open connections."""
        for writer in self._open:
            writer.transport.abort()


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
