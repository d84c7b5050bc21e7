"""The use of a server's slots by client and environment, with a clock that the test sets."""

from __future__ import annotations

from typing import Any

from envwire.server._front.sessions.session_totals import MOST, OTHERS, Holder, SlotUsage, Use


class Session:
    """What of a session is used."""

    now = 0.0

    def __init__(self, owner: str, env_id: str, began: float) -> None:
        self.owner, self.env_id, self.began = owner, env_id, began

    def clock(self) -> float:
        return Session.now


def session(owner: str = "token ann", env_id: str = "Pole", began: float = 0.0) -> Any:
    return Session(owner, env_id, began)


def test_ended_and_open_sessions_count() -> None:
    Session.now, usage = 10.0, SlotUsage()
    usage.add(session(began=4.0))
    shown = dict(usage.with_open([session(began=7.0), session("token bob")]))
    assert shown == {
        Holder("token ann", "Pole"): Use(2, 1, 9.0),
        Holder("token bob", "Pole"): Use(1, 1, 10.0),
    }
    assert dict(usage.with_open([])) == {Holder("token ann", "Pole"): Use(1, 0, 6.0)}


def test_what_is_kept_is_bounded() -> None:
    usage = SlotUsage()
    for number in range(3 * MOST):
        usage.add(session(f"address {number}"))
    shown = dict(usage.with_open([]))
    assert len(shown) == MOST
    assert shown[OTHERS].sessions == 2 * MOST + 1
