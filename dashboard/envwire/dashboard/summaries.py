"""The JSON that the page shows: a summary of the farm, and the details of one session."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from heapq import nlargest
from itertools import chain
from math import isfinite
from typing import Any

from envwire.dashboard.model import Fleet, Session
from envwire.dashboard.query import ended_row, row_of
from envwire.dashboard.tiles import encoded
from envwire.dashboard.verdict import shares, verdict
from envwire.observe.v1 import observe_pb2

#: Clients with the most sessions, of which the totals are shown.
_CLIENTS = 20
#: First lines of a traceback: Python's own, and the server's note that an environment raised.
_TRACEBACKS = ("Traceback (most recent call last)", "the environment raised")


def farm_summary(fleet: Fleet, waiting: int) -> dict[str, Any]:
    """Returns the servers, and how the time of their sessions is spent.

    Args:
        fleet: The servers.
        waiting: Number of Makes that wait at the gateways.
    """
    doing = {
        server.address: [session.doing for session in server.sessions.values()]
        for server in fleet.servers.values()
    }
    rates = {address: sum(each.steps for each in does) for address, does in doing.items()}
    parts = shares(chain.from_iterable(doing.values()))
    servers = [
        {
            "address": server.address,
            "state": server.state,
            "error": server.error,
            "active": server.status.active_sessions,
            "slots": server.status.max_sessions,
            "waiting": server.status.waiting,
            "version": server.status.version,
            "memory": server.status.memory,
            "frames": server.status.frames,
            "rate": rates[server.address],
            "admin": server.admin,
        }
        for server in fleet.servers.values()
    ]
    return {
        "servers": servers,
        "clients": _clients(fleet),
        **_totals(_sessions(fleet)),
        "waiting": waiting + sum(each.status.waiting for each in fleet.servers.values()),
        "shares": parts,
        "verdict": verdict(parts),
    }


def _sessions(fleet: Fleet) -> Iterable[Session]:
    return chain.from_iterable(server.sessions.values() for server in fleet.servers.values())


def _clients(fleet: Fleet) -> list[dict[str, Any]]:
    """Returns the clients with the most sessions, and what these do and take."""
    theirs = defaultdict[str, list[Session]](list)
    for session in _sessions(fleet):
        theirs[session.status.client].append(session)
    most = nlargest(_CLIENTS, theirs.items(), key=lambda client: len(client[1]))
    return [
        {"client": name, "sessions": len(sessions), **_totals(sessions)} for name, sessions in most
    ]


def _totals(sessions: Iterable[Session]) -> dict[str, float]:
    """Returns steps per second, and the processors and the bytes of the processes, each of which counts once."""
    rate, processes = 0.0, dict[tuple[str, int], Session]()
    for session in sessions:
        rate += session.doing.steps
        processes[session.server.address, session.status.process_id] = session
    return {
        "rate": rate,
        "processor": sum(each.doing.processor for each in processes.values()),
        "memory": sum(each.status.memory for each in processes.values()),
    }


def known(fleet: Fleet, address: str, session_id: str) -> dict[str, Any]:
    """Returns what the rounds say about a session; scope observe is enough for that."""
    server = fleet.server(address)
    if session := server.sessions.get(session_id):
        parts = shares([session.doing])
        return {
            "row": row_of(session),
            "rates": session.rates.until(server.round),
            "now": server.now,
            "verdict": verdict(parts),
        }
    if end := server.ended.get(session_id):
        return {"row": ended_row(server, end), "now": server.now, "verdict": end.message}
    return {"verdict": "The server does not know this session any more."}


def description(told: observe_pb2.DescribeSessionResponse) -> dict[str, Any]:
    """Returns the details that need scope watch: counters, episodes, events, exit status, output, last picture."""
    return {
        "counters": _counters(told.last if told.HasField("last") else told.session),
        "episodes": [
            {"at": each.ended, "total": each.total, "length": each.length}
            for each in told.episodes
            if isfinite(each.total)
        ],
        "events": [{"at": event.at, "text": event.text} for event in told.events],
        "exit_status": told.exit_status if told.HasField("exit_status") else None,
        "output": told.output,
        "error": last_error(told.output),
        "output_withheld": told.output_withheld,
        "picture": encoded(told.last_frame) if told.HasField("last_frame") else "",
    }


def _counters(status: observe_pb2.SessionStatus) -> dict[str, Any]:
    """Returns counts of episodes, repeats and recoveries; a mean without samples is None."""
    episodes = status.episodes
    known = episodes and isfinite(status.episode_returns)
    return {
        "episodes": episodes,
        "mean_return": status.episode_returns / episodes if known else None,
        "mean_length": status.episode_steps / episodes if episodes else None,
        "repeated": status.repeated,
        "replayed": status.replayed,
        "epoch": status.epoch,
        "loss": status.loss,
    }


def last_error(output: str) -> str:
    """Returns the last exception in a process's output, as one line; empty when there is none."""
    found, inside = "", False
    for line in output.splitlines():
        if line.startswith(_TRACEBACKS):
            inside = True
        elif inside and line and not line[0].isspace():
            found, inside = line, False
    return found
