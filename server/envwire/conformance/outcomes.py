"""How a check ends: exceptions that a check raises."""

from __future__ import annotations


class FailedError(Exception):
    """The server does not do what the sentence says; the text is what was expected."""


class SkippedError(Exception):
    """The check cannot be run on this server; the text says why."""


class UnreachableError(Exception):
    """No server answers at the target; the text says where."""


def expect(condition: object, expected: str) -> None:
    """Ends a check that did not find what it looked for.

    Raises:
        FailedError: The condition is false.
    """
    if not condition:
        raise FailedError(expected)


def expect_equal(found: object, expected: object, what: str) -> None:
    """Compares, and names both sides.

    Raises:
        FailedError: They differ.
    """
    expect(found == expected, f"{what}: {expected!r}, not {found!r}")
