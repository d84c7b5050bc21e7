"""The exceptions with which a check ends."""

from __future__ import annotations

from google.protobuf.message import Message

from envwire.conformance.protojson import to_json


class FailedError(Exception):
    """The server violates a sentence of the protocol; the text says what was expected."""


class SkippedError(Exception):
    """The check cannot be run on this server; the text says why."""


class UnreachableError(Exception):
    """No server answers at the target; the text says where."""


def expect(condition: object, expected: str) -> None:
    """Fails the check unless a condition is true.

    Raises:
        FailedError: The condition is false.
    """
    if not condition:
        raise FailedError(expected)


def expect_equal(found: object, expected: object, what: str) -> None:
    """Fails the check unless two values are equal; the text names both, messages as ProtoJSON.

    Raises:
        FailedError: They differ.
    """
    if found != expected:
        raise FailedError(f"{what}: {_shown(expected)}, not {_shown(found)}")


def _shown(value: object) -> str:
    return to_json(value) if isinstance(value, Message) else repr(value)
