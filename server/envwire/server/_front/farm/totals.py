"""What the environments and the clients of a server have done and taken, for the totals of its farm."""

from __future__ import annotations

from envwire.codec import Reason
from envwire.farm.v1 import farm_pb2
from envwire.server._auth.client import FARM_PREFIX
from envwire.server._front.sessions.table import Sessions
from envwire.server._processes.resources import usage_of

_LOSSES = (Reason.SESSION_LOST, Reason.STEP_TIMEOUT)
#: Environments can write to their counters: what they write there has to fit into a message.
_MOST = 2**63


def usage_of_slots(sessions: Sessions) -> list[farm_pb2.Usage]:
    """Returns who has used the slots, by the names that clients have at the gateway."""
    return [
        farm_pb2.Usage(
            principal=holder.owner.removeprefix(FARM_PREFIX),
            env_id=holder.env_id,
            sessions=use.sessions,
            open_sessions=use.open,
            slot_milliseconds=int(1000 * use.seconds),
        )
        for holder, use in sessions.usage.with_open(sessions)
    ]


def totals_of(sessions: Sessions) -> farm_pb2.ServerTotals:
    """Returns the totals of all sessions, ended ones included."""
    totals = sessions.totals.with_open(sessions)
    processes = {session.process for session in sessions}
    taken = [usage_of(process.pid) for process in processes]
    cpu = totals.cpu + sum(process.processor_time.left() for process in processes)
    return farm_pb2.ServerTotals(
        steps=min(totals.steps, _MOST),
        episodes=min(sum(each.episodes for each in totals.episodes.values()), _MOST),
        losses=sum(sessions.tally.ends[reason.value] for reason in _LOSSES),
        cpu_milliseconds=int(1000 * cpu),
        memory_bytes=sum(each.memory for each in taken if each),
    )
