"""Pages of the sessions of several servers: each session once, bounded, and servers that lie are found out."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from envwire.admin.v1 import admin_pb2 as pb
from envwire.farm.gateway.registry.states import Member
from envwire.farm.gateway.session_pages import Cursor, Part, checked, enough, joined
from tests.unit.farm.gateway.registry.test_registry import hello


def member(name: str, sessions: int) -> Member:
    return Member(hello(name), f"{name}:1", 0.0, active=sessions)


def told(member: Member, most: int, after: str) -> pb.ListSessionsResponse:
    """Returns the answer of a server."""
    ids = [f"{number:04}-{member.incarnation}" for number in range(member.active)]
    rest = [each for each in ids if each > after]
    page = [pb.SessionSummary(session_id=each) for each in rest[:most]]
    token = page[-1].session_id if len(rest) > most else ""
    return pb.ListSessionsResponse(sessions=page, next_page_token=token)


def page_of(members: Sequence[Member], most: int, token: str) -> pb.ListSessionsResponse:
    cursor = Cursor.of(token)
    left = [each for each in members if each.hello.server_id >= cursor.server_id]
    count = enough(left, most)
    parts = [
        checked(each, told(each, most, cursor.at(each)), most, cursor.at(each))
        for each in left[:count]
    ]
    return joined(parts, most, left[count] if count < len(left) else None)


@pytest.mark.parametrize("most", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize(
    "counts", [(), (0,), (3,), (0, 0, 5, 0), (2, 2, 2), (5, 1, 0, 9), (1,) * 150]
)
def test_pages_have_each_session_once(counts: tuple[int, ...], most: int) -> None:
    members = [member(f"{number:03}", count) for number, count in enumerate(counts)]
    seen: list[tuple[str, str]] = []
    token, pages = "", 0
    while True:
        page = page_of(members, most, token)
        pages += 1
        assert len(page.sessions) <= most
        seen += [(each.server_id, each.session_id) for each in page.sessions]
        token = page.next_page_token
        if not token:
            break
    assert pages <= sum(counts) + len(counts) + 1
    assert seen == [
        (each.hello.server_id, f"{number:04}-{each.incarnation}")
        for each in members
        for number in range(each.active)
    ]


@pytest.mark.parametrize(
    "ids",
    [
        ["1-b1"],
        ["2-a1", "1-a1"],
        ["1-a1", "1-a1"],
        ["0-a1"],  # it was on the page before
        ["1-a1", "2-a1", "3-a1", "4-a1"],  # more than was asked for
    ],
)
def test_a_server_that_lies_is_named(ids: list[str]) -> None:
    answer = pb.ListSessionsResponse(
        sessions=[pb.SessionSummary(session_id=each) for each in ids], next_page_token="x"
    )
    part = checked(member("a", 4), answer, 3, "0-a1")
    assert part.why_not
    assert not part.sessions
    assert not part.more


def test_a_server_that_goes_on_without_sessions_ends() -> None:
    part = checked(member("a", 4), pb.ListSessionsResponse(next_page_token="x"), 3, "")
    assert not part.more


def test_servers_that_do_not_answer_are_named_and_the_others_listed() -> None:
    first, second = member("a", 1), member("b", 1)
    parts = [Part(first, why_not="it hangs"), checked(second, told(second, 9, ""), 9, "")]
    page = joined(parts, 9, None)
    assert [(each.server_id, each.why) for each in page.unanswered] == [("a", "it hangs")]
    assert [each.server_id for each in page.sessions] == ["b"]
