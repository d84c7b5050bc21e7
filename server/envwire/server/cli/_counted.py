"""Numbers with their nouns, for people. It has no imports, because every command may load it."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """Returns a number and its noun: "1 session", "2 sessions"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
