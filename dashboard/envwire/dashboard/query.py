"""One page of the session table: filtered, sorted and cut to size."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from heapq import nlargest, nsmallest
from itertools import chain
from operator import itemgetter
from typing import Any, TypeVar

from envwire.dashboard.model import Fleet, Server, Session
from envwire.observe.v1 import observe_pb2 as pb

MAX_ROWS = 200
ENDED = "ended"
#: For more than one row in this many, sorting all rows is faster than selecting the top ones.
_SORTED = 20

Row = dict[str, Any]
_T = TypeVar("_T")

#: What each column is sorted by. It is read from sessions: rows are built only for those shown, not for all 10,000.
_KEYS: dict[str, Callable[[Session], Any]] = {
    "server": lambda session: session.server.address,
    "id": lambda session: session.status.session_id,
    "env": lambda session: session.status.env_id,
    "client": lambda session: session.status.client,
    "state": lambda session: session.state,
    "age": lambda session: session.age,
    "steps": lambda session: session.status.steps,
    "rate": lambda session: session.doing.steps,
    "environment": lambda session: session.doing.environment,
    "codec": lambda session: session.doing.codec,
    "agent": lambda session: session.doing.agent,
    "processor": lambda session: session.doing.processor,
    "memory": lambda session: session.status.memory,
}


@dataclass(frozen=True)
class Query:
    """Which rows the table shows, and in which order.

    Attributes:
        text: Substring of an id, environment, client or server; empty for all.
        state: A state, `ENDED`, or empty for all live sessions.
        server: Address of a server; empty for all.
        sort: Column to sort by.
        descending: Whether the largest value comes first.
        offset: Rows to skip.
        limit: Rows to show.
    """

    text: str = ""
    state: str = ""
    server: str = ""
    sort: str = "rate"
    descending: bool = True
    offset: int = 0
    limit: int = 50

    @classmethod
    def of(cls, given: Mapping[str, str]) -> Query:
        """Parses a query string.

        Raises:
            ValueError: A number is invalid, or a column unknown.
        """
        sort = given.get("sort", "rate")
        if sort not in _KEYS:
            raise ValueError(f"no column {sort!r}; choose one of {', '.join(_KEYS)}")
        return cls(
            text=given.get("text", "").lower(),
            state=given.get("state", ""),
            server=given.get("server", ""),
            sort=sort,
            descending=given.get("order", "descending") == "descending",
            offset=max(0, int(given.get("offset", "0"))),
            limit=min(MAX_ROWS, max(1, int(given.get("limit", "50")))),
        )


def page(fleet: Fleet, query: Query) -> dict[str, Any]:
    """Returns the rows to show, and the total number of matches."""
    servers = [each for each in fleet.servers.values() if query.server in ("", each.address)]
    if query.state == ENDED:
        rows = (ended_row(server, end) for server in servers for end in server.ended.values())
        ended = [row for row in rows if _matches(query.text, row)]
        return {"total": len(ended), "rows": _shown(ended, query, itemgetter(query.sort))}
    living = [
        session
        for session in chain.from_iterable(server.sessions.values() for server in servers)
        if query.text in session.text and (not query.state or session.state == query.state)
    ]
    shown = _shown(living, query, _KEYS[query.sort])
    return {"total": len(living), "rows": [row_of(session) for session in shown]}


def _shown(found: list[_T], query: Query, key: Callable[[_T], Any]) -> list[_T]:
    last = query.offset + query.limit
    if last > len(found) // _SORTED:
        return sorted(found, key=key, reverse=query.descending)[query.offset : last]
    pick = nlargest if query.descending else nsmallest
    return pick(last, found, key=key)[query.offset :]


def _matches(text: str, row: Row) -> bool:
    return any(text in row[name].lower() for name in ("env", "client", "id", "server"))


def row_of(session: Session) -> Row:
    """Returns a session as a row."""
    return {
        **{column: key(session) for column, key in _KEYS.items()},
        "frames": session.status.frames,
        "episodes": session.status.episodes,
    }


def ended_row(server: Server, end: pb.SessionEnd) -> Row:
    """Returns a session that has ended as a row."""
    return {
        "server": server.address,
        "id": end.session_id,
        "env": end.env_id,
        "client": end.client,
        "state": end.reason,
        "age": end.ended - end.began,
        "steps": end.steps,
        **dict.fromkeys(("rate", "environment", "codec", "agent", "processor"), 0.0),
        "memory": 0,
        "frames": False,
        "episodes": 0,
        "message": end.message,
    }
