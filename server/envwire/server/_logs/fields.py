"""What a log line says apart from its text: the fields of its JSON object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

#: The attribute of a log record that holds them.
ATTRIBUTE = "envwire_fields"


def extra(**fields: Any) -> dict[str, Any]:
    """Returns the `extra` of a logging call: fields of the line's JSON object, `message` in place of the line's text.

    Callers pass names, ids and reasons; never a request, a response or an argument of an environment.
    """
    return {ATTRIBUTE: fields}


def of_sessions(sessions: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """Returns the fields of a line about one or several sessions.

    Args:
        sessions: The fields of each.
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
