"""Iterates over the messages nested in a message."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from google.protobuf.message import Message


def nested(message: Message) -> Iterator[Message]:
    """Yields the messages in the fields of a message that are set, in the order of their numbers."""
    for field, value in message.ListFields():
        if field.message_type is not None:
            children: Any = value if is_repeated(field) else (value,)
            yield from children


def is_repeated(field: Any) -> bool:
    """Returns whether a field, given by its descriptor, holds a list."""
    # protobuf 7 drops `label`, earlier ones have no `is_repeated`.
    repeated: bool | None = getattr(field, "is_repeated", None)
    return field.label == field.LABEL_REPEATED if repeated is None else repeated
