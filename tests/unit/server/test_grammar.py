"""Words in messages."""

from __future__ import annotations

import pytest

from envwire.server._grammar import counted, enumerated


@pytest.mark.parametrize(
    ("words", "text"),
    [(["a"], "a"), (["a", "b"], "a or b"), (["a", "b", "c"], "a, b or c")],
)
def test_the_last_word_has_a_conjunction(words: list[str], text: str) -> None:
    assert enumerated(words, "or") == text


def test_one_is_not_many() -> None:
    assert [counted(number, "session") for number in (0, 1, 2)] == [
        "0 sessions",
        "1 session",
        "2 sessions",
    ]


def test_a_verb_agrees_with_its_number() -> None:
    assert [counted(number, "Make", "wait") for number in (0, 1, 2)] == [
        "0 Makes wait",
        "1 Make waits",
        "2 Makes wait",
    ]
