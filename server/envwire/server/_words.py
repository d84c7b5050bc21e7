"""Lists of words in messages."""

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
