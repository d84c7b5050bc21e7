"""Logging to standard error, as text or as one JSON object per line, with fields of its own."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
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


TEXT, JSON = "text", "json"
FORMATS = (TEXT, JSON)

_TEXT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class JsonFormatter(logging.Formatter):
    """Formats a record as one line of JSON.

    Attributes:
        server: HOST:PORT of this server, once it has one.
    """

    server = ""

    def format(self, record: logging.LogRecord) -> str:
        """Returns the line: time (UTC), level, logger, stream and message first, then the record's own fields."""
        time = datetime.fromtimestamp(record.created, timezone.utc)
        line: dict[str, Any] = {
            "time": time.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname,
            "logger": record.name,
            "stream": "server",
            **({"server": self.server} if self.server else {}),
            "message": record.getMessage(),
            **getattr(record, ATTRIBUTE, {}),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


class TextFormatter(logging.Formatter):
    """Formats a record for people; its further lines are indented, so that no text of others passes for a record.

    Attributes:
        server: HOST:PORT of this server once it is in a farm, where its lines may be among those of others.
    """

    server = ""

    def __init__(self) -> None:
        super().__init__(_TEXT)

    def format(self, record: logging.LogRecord) -> str:
        """Returns the record's lines, each of which begins with the server."""
        start = self.server and f"{self.server} "
        return start + super().format(record).replace("\n", f"\n{start}    ")


def log_to_stderr(form: str) -> None:
    """Sends all log records from INFO on to standard error.

    Args:
        form: "text" or "json".
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if form == JSON else TextFormatter())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
