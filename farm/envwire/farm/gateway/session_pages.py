"""Pagination of a farm's sessions, server by server. No I/O."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, takewhile
from typing import NamedTuple

from envwire.admin.v1 import admin_pb2 as pb
from envwire.farm.gateway.registry.states import Member

#: Number of servers asked at once for one page.
_AT_ONCE = 64


class Cursor(NamedTuple):
    """Position at which a page begins.

    Attributes:
        server_id: The first server of the page; earlier ones, in the order of ids, were on earlier pages.
        after: Id of the last session of the previous page; empty to begin with the server's first.
    """

    server_id: str
    after: str

    @classmethod
    def of(cls, page_token: str) -> Cursor:
        """Parses a `next_page_token`."""
        server_id, _, after = page_token.rpartition("\n")
        return cls(server_id, after)

    def token(self) -> str:
        """Returns the `next_page_token` of a page that ends at this position."""
        return "\n".join(self)

    def at(self, member: Member) -> str:
        """Returns the id of the session after which a server's part of the page begins."""
        return self.after if member.hello.server_id == self.server_id else ""


class Part(NamedTuple):
    """One server's part of a page.

    Attributes:
        member: The server.
        sessions: Its sessions, in the order of their ids.
        more: Whether the server has more of them.
        why_not: Why the server did not answer; empty if it did.
    """

    member: Member
    sessions: Sequence[pb.SessionSummary] = ()
    more: bool = False
    why_not: str = ""


def enough(members: Sequence[Member], most: int) -> int:
    """Returns how many of the servers, from the first one on, should have enough sessions to fill a page.

    Args:
        members: The remaining servers.
        most: Largest number of sessions on a page.
    """
    had = accumulate(member.active for member in members[:_AT_ONCE])
    return sum(1 for _ in takewhile(lambda sessions: sessions < most, had)) + 1


def checked(member: Member, answer: pb.ListSessionsResponse, most: int, after: str) -> Part:
    """Returns a server's answer as part of a page; an invalid answer counts as none."""
    ids = [each.session_id for each in answer.sessions]
    in_order = all(one < other for one, other in zip([after, *ids], ids, strict=False))
    if (
        len(ids) > most
        or not in_order
        or not all(each.endswith(f"-{member.incarnation}") for each in ids)
    ):
        return Part(member, why_not="its answer is no page of its sessions")
    for each in answer.sessions:
        each.server_id = member.hello.server_id
    return Part(member, answer.sessions, more=bool(ids and answer.next_page_token))


def joined(parts: Sequence[Part], most: int, rest: Member | None) -> pb.ListSessionsResponse:
    """Joins the parts of several servers to a page.

    Args:
        parts: Answers of the servers, in the order of their ids.
        most: Largest number of sessions on a page.
        rest: The next server after those; None if there is none.
    """
    page = pb.ListSessionsResponse()
    for part in parts:
        server_id = part.member.hello.server_id
        if part.why_not:
            page.unanswered.add(server_id=server_id, why=part.why_not)
        taken = part.sessions[: most - len(page.sessions)]
        page.sessions.extend(taken)
        if part.more or len(taken) < len(part.sessions):
            after = taken[-1].session_id if taken else ""
            page.next_page_token = Cursor(server_id, after).token()
            return page
    if rest is not None:
        page.next_page_token = Cursor(rest.hello.server_id, "").token()
    return page
