"""Words in messages: numbers with their nouns, and lists. It has no slow imports, because every command may load it."""

from __future__ import annotations

from collections.abc import Sequence


def enumerated(words: Sequence[str], last: str) -> str:
    """Returns words as a sentence lists them: "a, b or c".

    Args:
        words: The words.
        last: The word before the last one: "and" or "or".
    """
    *others, final = words
    return f"{', '.join(others)} {last} {final}" if others else final


def counted(number: int, noun: str) -> str:
    """Returns a number and its noun: "1 session", "2 sessions"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
