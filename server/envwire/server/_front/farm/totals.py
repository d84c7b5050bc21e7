"""What the environments of a server have done and taken, for the totals of its farm."""

from __future__ import annotations

from envwire.codec import Reason
from envwire.farm.v1 import farm_pb2
from envwire.server._front.sessions.table import Sessions
from envwire.server._processes.resources import usage_of

_LOSSES = (Reason.SESSION_LOST, Reason.STEP_TIMEOUT)
#: Environments can write to their counters: what they write there has to fit into a message.
_MOST = 2**63


def totals_of(sessions: Sessions) -> farm_pb2.ServerTotals:
    """Returns the totals of all sessions, ended ones included."""
    totals = sessions.totals.with_open(sessions)
    taken = [usage_of(pid) for pid in {session.process.pid for session in sessions}]
    cpu = totals.cpu + sum(each.cpu for each in taken if each)
    return farm_pb2.ServerTotals(
        steps=min(totals.steps, _MOST),
        episodes=min(sum(each.episodes for each in totals.episodes.values()), _MOST),
        losses=sum(sessions.tally.ends[reason.value] for reason in _LOSSES),
        cpu_milliseconds=int(1000 * cpu),
        memory_bytes=sum(each.memory for each in taken if each),
    )
