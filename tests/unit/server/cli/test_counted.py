"""Numbers with their nouns."""

from __future__ import annotations

from envwire.server.cli._counted import counted


def test_one_is_not_many() -> None:
    assert [counted(number, "session") for number in (0, 1, 2)] == [
        "0 sessions",
        "1 session",
        "2 sessions",
    ]
