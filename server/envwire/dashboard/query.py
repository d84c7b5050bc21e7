"""A page of the table of sessions: filtered, sorted, cut."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from heapq import nlargest, nsmallest
from operator import itemgetter
from typing import Any, TypeVar

from envwire.dashboard.model import Fleet, Server, Session
from envwire.observe.v1 import observe_pb2 as pb

MOST_ROWS = 200
ENDED = "ended"

Row = dict[str, Any]
_T = TypeVar("_T")

#: What each column is sorted by. Rows are made of the sessions that are shown, not of all ten thousand.
_KEYS: dict[str, Callable[[Session], Any]] = {
    "server": lambda session: session.server.address,
    "id": lambda session: session.status.session_id,
    "env": lambda session: session.status.env_id,
    "client": lambda session: session.status.client,
    "state": lambda session: session.status.state,
    "age": lambda session: session.age,
    "steps": lambda session: session.status.steps,
    "rate": lambda session: session.doing.steps,
    "environment": lambda session: session.doing.environment,
    "codec": lambda session: session.doing.codec,
    "agent": lambda session: session.doing.agent,
}


@dataclass(frozen=True)
class Query:
    """What the table shows.

    Attributes:
        text: Part of an id, environment, client or server; empty for all.
        state: A state, `ENDED`, or empty for all that live.
        server: Address of a server; empty for all.
        sort: A column.
        descending: Whether its largest value comes first.
        offset: Rows before the first one that is shown.
        limit: Rows that are shown.
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
        """Reads a query string.

        Raises:
            ValueError: A number or a column that is none.
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
            limit=min(MOST_ROWS, max(1, int(given.get("limit", "50")))),
        )


def page(fleet: Fleet, query: Query) -> dict[str, Any]:
    """Returns the rows to show and how many there are in all."""
    servers = [
        server
        for server in fleet.servers.values()
        if not query.server or server.address == query.server
    ]
    if query.state == ENDED:
        ended = [row for row in _ended(servers) if _matches(query.text, _texts_of(row))]
        return {"total": len(ended), "rows": _shown(ended, query, itemgetter(query.sort))}
    living = [session for session in _living(servers, query) if _is_named(session, query.text)]
    shown = _shown(living, query, _KEYS[query.sort])
    return {"total": len(living), "rows": [row_of(session) for session in shown]}


def _shown(found: list[_T], query: Query, key: Callable[[_T], Any]) -> list[_T]:
    pick = nlargest if query.descending else nsmallest
    return pick(query.offset + query.limit, found, key=key)[query.offset :]


def _living(servers: list[Server], query: Query) -> Iterator[Session]:
    for server in servers:
        for session in server.sessions.values():
            if not query.state or session.state == query.state:
                yield session


def _ended(servers: list[Server]) -> Iterator[Row]:
    for server in servers:
        for end in server.ended.values():
            yield ended_row(server, end)


def _is_named(session: Session, text: str) -> bool:
    if not text:
        return True
    status = session.status
    return _matches(text, (status.env_id, status.client, status.session_id, session.server.address))


def _texts_of(row: Row) -> tuple[str, ...]:
    return row["env"], row["client"], row["id"], row["server"]


def _matches(text: str, texts: tuple[str, ...]) -> bool:
    return any(text in each.lower() for each in texts)


def row_of(session: Session) -> Row:
    """Returns a session as a row."""
    status, doing = session.status, session.doing
    return {
        "server": session.server.address,
        "id": status.session_id,
        "env": status.env_id,
        "client": status.client,
        "state": session.state,
        "age": session.age,
        "steps": status.steps,
        "rate": doing.steps,
        "environment": doing.environment,
        "codec": doing.codec,
        "agent": doing.agent,
        "frames": status.frames,
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
        "rate": 0.0,
        "environment": 0.0,
        "codec": 0.0,
        "agent": 0.0,
        "frames": False,
        "message": end.message,
    }
