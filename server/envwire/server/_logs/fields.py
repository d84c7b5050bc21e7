"""Structured fields of a log line, which appear in its JSON form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

#: Attribute of a log record that holds the fields.
ATTRIBUTE = "envwire_fields"


def extra(**fields: Any) -> dict[str, Any]:
    """Returns the `extra` of a logging call: the fields of the line's JSON object; `message` replaces its text.

    Callers pass names, ids and reasons, never a request, a response or an environment's argument.
    """
    return {ATTRIBUTE: fields}


def of_sessions(sessions: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """Returns the fields of a line about one or several sessions.

    Args:
        sessions: The fields of each session.
    """
    if not sessions:
        return {}
    first, *others = sessions
    shared = {
        name: value
        for name, value in first.items()
        if all(each.get(name) == value for each in others)
    }
    ids = {"sessions": [each["session"] for each in sessions]} if others else {}
    return {**shared, **ids}
