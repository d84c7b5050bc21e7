"""OpenEnv's WebSocket messages, parsed from and written as text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import Enum
from typing import Any, NamedTuple, cast


class Code(str, Enum):
    """OpenEnv's error codes."""

    INVALID_JSON = "INVALID_JSON"
    UNKNOWN_TYPE = "UNKNOWN_TYPE"
    VALIDATION_ERROR = "VALIDATION_ERROR"
    EXECUTION_ERROR = "EXECUTION_ERROR"
    CAPACITY_REACHED = "CAPACITY_REACHED"
    FACTORY_ERROR = "FACTORY_ERROR"
    SESSION_ERROR = "SESSION_ERROR"


class RefusedError(Exception):
    """A message that cannot be served, answered with an error.

    Attributes:
        code: OpenEnv's code for the error.
    """

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.code = code


class Message(NamedTuple):
    """A client's message: its kind, such as "step", and its data."""

    kind: str
    data: Mapping[str, Any]


def read(text: str) -> Message:
    """Parses a message.

    Raises:
        RefusedError: The text is not a JSON object with a type, or its data is not an object.
    """
    try:
        message: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RefusedError(Code.INVALID_JSON, f"the message is no JSON: {error}") from None
    if not isinstance(message, dict):
        raise RefusedError(Code.VALIDATION_ERROR, 'send an object, {"type": "reset", "data": {}}')
    fields = cast("dict[str, Any]", message)
    data: Any = fields.get("data") or {}
    if not isinstance(data, dict):
        raise RefusedError(Code.VALIDATION_ERROR, "data must be an object")
    return Message(str(fields.get("type", "")), cast("dict[str, Any]", data))


def observation(
    observed: Mapping[str, Any], reward: float | None, done: bool, metadata: Mapping[str, Any]
) -> str:
    """Returns the answer to a reset or a step."""
    data = {"observation": observed, "reward": reward, "done": done, "metadata": metadata}
    return _written("observation", data)


def state(data: Mapping[str, Any]) -> str:
    """Returns the answer to a request for the state of the episode."""
    return _written("state", data)


def error(refused: RefusedError) -> str:
    """Returns the answer that reports an error."""
    return _written("error", {"message": str(refused), "code": refused.code.value})


def _written(kind: str, data: Mapping[str, Any]) -> str:
    return json.dumps({"type": kind, "data": data}, allow_nan=False)
