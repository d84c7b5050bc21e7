"""Prometheus metrics of a server, computed at each scrape from state that the server keeps anyway."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from envwire.server._front.counters import (
    counter,
    counters,
    gauge,
    gauges,
    makes,
    summaries,
    version,
)
from envwire.server._front.makes.admission import Admission
from envwire.server._front.makes.warm_pool import WarmPool
from envwire.server._front.sessions.session_totals import SessionTotals
from envwire.server._front.sessions.table import Sessions


@dataclass(eq=False)
class ServerMetrics(Collector):
    """Metrics of one server. Labels are served ids and the protocol's reasons, never values that a client sends.

    Args:
        sessions: Its sessions.
        admission: Its admission of Makes.
        warm_pool: Its pool of environments made ahead.
    """

    _sessions: Sessions
    _admission: Admission
    _warm_pool: WarmPool

    def collect(self) -> Iterator[Metric]:
        """Yields the metrics, computed at each scrape."""
        sessions = self._sessions
        yield version()
        yield gauge("slots", "Sessions that the server can hold.", sessions.capacity)
        yield gauge(
            "slots_used", "Slots that are taken, Makes in progress included.", len(sessions)
        )
        yield gauge("makes_waiting", "Makes that wait for a free slot.", self._admission.waiting)
        yield gauge("draining", "1 when the server takes no more sessions.", sessions.draining)
        text = "Memory of devices that sessions share with their clients, in bytes."
        yield gauge("device_memory_bytes", text, sum(each.counters.device for each in sessions))
        by_id = Counter(each.env_id for each in sessions)
        yield gauges("sessions", "Sessions by environment.", "env_id", by_id)
        text = "Environments that are made and have no client yet, by environment."
        yield gauges("warm_environments", text, "env_id", self._warm_pool.ready())
        yield from makes(sessions.tally)
        yield counters(
            "sessions_ended", "Sessions that ended, by reason.", "reason", sessions.tally.ends
        )
        yield from self._session_totals()
        text = "Time of Makes that succeeded, by what took it."
        yield counters("make_part_seconds", text, "part", asdict(sessions.make_timings))
        both = {"received": sessions.tally.received, "sent": sessions.tally.sent}
        yield counters("grpc_bytes", "Bytes of messages over gRPC.", "direction", both)

    def _session_totals(self) -> Iterator[Metric]:
        """Yields totals over all sessions: ended ones as counted at their end, open ones by their scoreboards."""
        totals = self._sessions.totals.with_open(self._sessions)
        yield from _unlabelled(totals)
        both = {"received": totals.received, "sent": totals.sent}
        yield counters("direct_bytes", "Bytes of messages on direct channels.", "direction", both)
        text = "Sessions in which a client replayed what a lost session had served, by the reason of the loss."
        yield counters("recoveries", text, "reason", totals.recoveries)
        yield from _episodes(totals)


def _unlabelled(totals: SessionTotals) -> Iterator[Metric]:
    """Yields the counters without labels."""
    yield counter("requests", "Requests that sessions served, steps among them.", totals.requests)
    text = "Requests that came again and got the answer that was kept."
    yield counter("requests_repeated", text, totals.repeated)
    text = "Requests of lost sessions that were served again in new ones."
    yield counter("requests_replayed", text, totals.replayed)
    yield counter("steps", "Steps that environments took.", totals.steps)
    text = "Time in which sessions' processes served requests."
    yield counter("request_seconds", text, totals.serving)
    text = "Time of that which the environments' steps took."
    yield counter("environment_seconds", text, totals.stepping)
    text = "Time of that in which requests were read and answers written, calls other than steps included."
    codec = max(0.0, totals.serving - totals.stepping - totals.replying)
    yield counter("codec_seconds", text, codec)
    text = "Time of that in which answers were handed to the system."
    yield counter("wire_seconds", text, totals.replying)
    text = "Time in which the server waited for sessions' processes to answer requests over gRPC."
    yield counter("relay_seconds", text, totals.relaying)


def _episodes(totals: SessionTotals) -> Iterator[Metric]:
    """Yields counts of finished episodes; episodes that a recovery replays do not count again."""
    by_id = totals.episodes.items()
    returns = {env_id: (sums.episodes, sums.returns) for env_id, sums in by_id}
    yield summaries("episode_return", "Returns of episodes that ended.", "env_id", returns)
    lengths = {env_id: (sums.episodes, sums.lengths) for env_id, sums in by_id}
    yield summaries("episode_length", "Steps of episodes that ended.", "env_id", lengths)
