"""Pages of the sessions of a farm, server by server. No I/O."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, takewhile
from typing import NamedTuple

from envwire.admin.v1 import admin_pb2 as pb
from envwire.farm.gateway.registry.states import Member

#: Servers that are asked at once for one page.
_AT_ONCE = 64


class Cursor(NamedTuple):
    """Where a page begins.

    Attributes:
        server_id: At which server; those before it in the order of ids were on the pages before.
        after: Id of the session after which it begins; empty for the first one.
    """

    server_id: str
    after: str

    @classmethod
    def of(cls, page_token: str) -> Cursor:
        """Reads a `next_page_token`."""
        server_id, _, after = page_token.rpartition("\n")
        return cls(server_id, after)

    def token(self) -> str:
        """Returns the `next_page_token` of a page that ends before it."""
        return "\n".join(self)

    def at(self, member: Member) -> str:
        """Returns after which session a server's part of the page begins."""
        return self.after if member.hello.server_id == self.server_id else ""


class Part(NamedTuple):
    """What one server told for a page.

    Attributes:
        member: The server.
        sessions: Its sessions, in the order of their ids.
        more: Whether it has more of them.
        why_not: Why it did not answer; empty where it did.
    """

    member: Member
    sessions: Sequence[pb.SessionSummary] = ()
    more: bool = False
    why_not: str = ""


def enough(members: Sequence[Member], most: int) -> int:
    """Returns how many of the servers, from the first one on, should together have the sessions of a page.

    Args:
        members: The servers that are left.
        most: The most sessions of a page.
    """
    had = accumulate(member.active for member in members[:_AT_ONCE])
    return sum(1 for _ in takewhile(lambda sessions: sessions < most, had)) + 1


def checked(member: Member, answer: pb.ListSessionsResponse, most: int, after: str) -> Part:
    """Returns a server's answer as part of a page, unless it lists what it cannot have."""
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
    """Returns a page.

    Args:
        parts: What its servers told, in the order of their ids.
        most: The most sessions of a page.
        rest: The server after those; None when there is none.
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
