"""Words in messages: numbers with their nouns, and lists. It has no slow imports, because every command may load it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

#: Longest name for which similar ones are searched, in characters.
_MAX_COMPARED = 64


def enumerated(words: Sequence[str], last: str) -> str:
    """Returns words as a sentence lists them: "a, b or c".

    Args:
        words: The words.
        last: The word before the last one: "and" or "or".
    """
    *others, final = words
    return f"{', '.join(others)} {last} {final}" if others else final


def did_you_mean(name: str, known: Collection[str], otherwise: str) -> str:
    """Returns "did you mean a or b?" with the known names that are most like `name`; `otherwise` if none is."""
    import difflib

    # The search takes time in proportion to the length: an id of 32 MB took 10.8 s. No real name has 65 characters.
    near = difflib.get_close_matches(name, known, n=3) if len(name) <= _MAX_COMPARED else []
    return f"did you mean {enumerated(near, 'or')}?" if near else otherwise


def counted(number: int, noun: str, verb: str = "") -> str:
    """Returns a number, its noun, and its verb if there is one: "1 session waits", "2 sessions wait"."""
    one = number == 1
    subject = f"{number} {noun}" if one else f"{number} {noun}s"
    return f"{subject} {verb}s" if verb and one else f"{subject} {verb}".rstrip()
