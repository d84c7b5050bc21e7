"""The table of sessions shows the requested page."""

from __future__ import annotations

from typing import Any

import pytest

from envwire.dashboard.model import Fleet
from envwire.dashboard.query import MAX_ROWS, Query, page
from envwire.observe.v1 import observe_pb2 as pb


@pytest.fixture
def fleet() -> Fleet:
    made = Fleet()
    for address, first in (("a:1", 0), ("b:1", 300)):
        sessions = [
            pb.SessionStatus(
                session_id=f"s{number:03}",
                env_id="CartPole-v1" if number % 2 else "Pendulum-v1",
                client=f"token {number % 3}",
                state=pb.SessionStatus.STATE_BUSY
                if number % 5 == 0
                else pb.SessionStatus.STATE_IDLE,
                steps=number,
            )
            for number in range(first, first + 300)
        ]
        ended = [pb.SessionEnd(session_id=f"e{first}", reason="SESSION_LOST", began=1.0, ended=3.0)]
        status = pb.ServerStatus(incarnation="x", now=5.0)
        made.server(address).take(pb.WatchResponse(server=status, sessions=sessions, ended=ended))
    return made


def shown(fleet: Fleet, **asked: Any) -> tuple[int, list[str]]:
    told = page(fleet, Query.of({name: str(value) for name, value in asked.items()}))
    return told["total"], [row["id"] for row in told["rows"]]


def test_rows_are_sorted_and_cut(fleet: Fleet) -> None:
    assert shown(fleet, sort="steps", limit=2) == (600, ["s599", "s598"])
    assert shown(fleet, sort="steps", order="ascending", limit=2, offset=3) == (
        600,
        ["s003", "s004"],
    )
    assert len(shown(fleet, limit=10_000)[1]) == MAX_ROWS
    assert shown(fleet, offset=10_000)[1] == []


@pytest.mark.parametrize(
    ("asked", "total"),
    [
        ({"text": "cartpole"}, 300),
        ({"text": "TOKEN 1"}, 200),
        ({"text": "s59"}, 10),
        ({"text": "b:1"}, 300),
        ({"server": "a:1"}, 300),
        ({"state": "busy"}, 120),
        ({"state": "busy", "server": "a:1", "text": "cartpole"}, 30),
        ({"state": "ended"}, 2),
        ({"state": "ended", "text": "e300"}, 1),
        ({"server": "none"}, 0),
    ],
)
def test_filters(fleet: Fleet, asked: dict[str, str], total: int) -> None:
    assert shown(fleet, **asked)[0] == total


@pytest.mark.parametrize(
    "column",
    [
        "server",
        "id",
        "env",
        "client",
        "state",
        "age",
        "steps",
        "rate",
        "environment",
        "codec",
        "agent",
    ],
)
def test_every_column_of_the_living_and_the_ended_can_be_sorted_by(
    fleet: Fleet, column: str
) -> None:
    assert shown(fleet, sort=column)[0] == 600
    assert shown(fleet, sort=column, state="ended")[0] == 2


@pytest.mark.parametrize("asked", [{"sort": "__class__"}, {"offset": "x"}, {"limit": "1e9"}])
def test_nonsense_is_refused(asked: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"column|invalid literal"):
        Query.of(asked)
