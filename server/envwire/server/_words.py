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


def counted(number: int, noun: str, verb: str = "") -> str:
    """Returns a number, its noun, and its verb if there is one: "1 session waits", "2 sessions wait"."""
    one = number == 1
    subject = f"{number} {noun}" if one else f"{number} {noun}s"
    return f"{subject} {verb}s" if verb and one else f"{subject} {verb}".rstrip()
