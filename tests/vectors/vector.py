"""A golden vector: a message as ProtoJSON and as bytes, for tests in every language."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from google.protobuf.message import Message

from envwire.conformance.protojson import to_json

FOLDER = Path(__file__).parents[2] / "protos" / "vectors"
#: A field that no message has: number 1000, a text.
UNKNOWN_FIELD = b"\xc2\x3e\x03new"


def described(
    name: str, meaning: str, message: Message, raw: bytes | None = None
) -> dict[str, Any]:
    """Returns a vector.

    Args:
        name: Its name, unique in its file.
        meaning: What it shows.
        message: What the bytes hold.
        raw: Bytes that a reader has to take, and that no writer has to send; without them the canonical ones, with all
            fields in the order of their numbers, are written.
    """
    return {
        "name": name,
        "meaning": meaning,
        "holds": message.DESCRIPTOR.full_name,
        "canonical": raw is None,
        "json": json.loads(to_json(message)),
        "hex": (message.SerializeToString(deterministic=True) if raw is None else raw).hex(),
    }


def text(vectors: Iterable[dict[str, Any]]) -> str:
    """Returns a file of vectors."""
    return json.dumps(list(vectors), indent=1) + "\n"
