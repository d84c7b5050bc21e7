"""Metrics of a server, read from what it knows anyway when Prometheus asks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from envwire.server._front.http.families import counter, counters, gauge, gauges, makes, version
from envwire.server._front.makes.admission import Admission
from envwire.server._front.sessions.table import Sessions
from envwire.server._front.tally import Served


class ServerMetrics(Collector):
    """Metrics of one server. Labels are ids that it serves and reasons of the protocol, nothing that a client sends.

    Args:
        sessions: Its sessions.
        admission: Takes Makes.
    """

    def __init__(self, sessions: Sessions, admission: Admission) -> None:
        self._sessions = sessions
        self._admission = admission

    def collect(self) -> Iterator[Metric]:
        """Yields the metrics."""
        sessions, admission = self._sessions, self._admission
        yield version()
        yield gauge("slots", "Sessions that the server can hold.", sessions.capacity)
        yield gauge(
            "slots_used", "Slots that are taken, Makes in progress included.", len(sessions)
        )
        yield gauge("makes_waiting", "Makes that wait for a free slot.", admission.waiting)
        yield gauge("draining", "1 when the server takes no more sessions.", admission.draining)
        by_id = Counter(each.env_id for each in sessions)
        yield gauges("sessions", "Sessions by environment.", "env_id", by_id)
        yield from makes(sessions.tally)
        yield counters(
            "sessions_ended", "Sessions that ended, by reason.", "reason", sessions.tally.ends
        )
        yield from self._requests()
        text = "Bytes over gRPC; those of direct channels are not counted."
        both = {"received": sessions.tally.received, "sent": sessions.tally.sent}
        yield counters("grpc_bytes", text, "direction", both)

    def _requests(self) -> Iterator[Metric]:
        """Yields what sessions served: ended ones as counted at their end, open ones by their scoreboards."""
        served: Served = replace(self._sessions.tally.served)
        for session in self._sessions:
            served.add(session.steps, *session.stats())
        yield counter(
            "requests", "Requests that sessions served, steps among them.", served.requests
        )
        yield counter("steps", "Steps that environments took.", served.steps)
        yield counter(
            "request_seconds",
            "Time in which sessions served them, the environments' own included.",
            served.serving,
        )
        yield counter(
            "environment_seconds",
            "Time of that which the environments' steps took.",
            served.stepping,
        )
