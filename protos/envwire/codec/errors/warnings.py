"""Encodes and decodes warnings that an environment issued during a request."""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from typing import Final

from envwire.codec.values.opaque import printable
from envwire.v1 import status_pb2

_CATEGORIES: Final[dict[str, type[Warning]]] = {
    name: kind
    for name, kind in vars(builtins).items()
    if isinstance(kind, type) and issubclass(kind, Warning)
}


def encode_warnings(warnings: Iterable[tuple[type[Warning], str]]) -> list[status_pb2.Warning]:
    """Writes pairs of category and text, each under the nearest builtin category."""
    return [
        status_pb2.Warning(category=_builtin_name(category), text=printable(text))
        for category, text in warnings
    ]


def decode_warnings(messages: Iterable[status_pb2.Warning]) -> list[tuple[type[Warning], str]]:
    """Reads pairs of category and text; unknown categories become UserWarning."""
    return [(_CATEGORIES.get(m.category, UserWarning), m.text) for m in messages]


def _builtin_name(category: type[Warning]) -> str:
    return next(kind.__name__ for kind in category.__mro__ if kind in _CATEGORIES.values())
