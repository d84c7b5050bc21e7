"""The routes of the HTTP port for operators: `/livez`, `/readyz` and `/metrics`."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import TYPE_CHECKING

from envwire.server._auth.access import Access, PeerIdentity
from envwire.server._front.http.port import Page, Routes

if TYPE_CHECKING:
    from prometheus_client.registry import Collector


def operations(access: Access, ready: Callable[[], bool], collector: Collector) -> Routes:
    """Returns the routes. Health is public; metrics need scope `observe` on a server with tokens.

    Args:
        access: Identifies callers.
        ready: Returns whether Makes are accepted.
        collector: Collects the metrics.
    """
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
