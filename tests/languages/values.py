"""Values as bytes, to compare across languages."""

from __future__ import annotations

from typing import Any

from envwire.codec import encode_value
from envwire.v1 import values_pb2


def value_hex(value: Any) -> str:
    """Returns a value as it travels."""
    message = values_pb2.Value()
    encode_value(value, message, opaque=True)
    return message.SerializeToString().hex()
