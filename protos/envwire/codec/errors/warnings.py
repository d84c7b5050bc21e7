"""Encodes and decodes warnings that an environment issued during a request."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Final

from envwire.codec.values.opaque import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from google.protobuf.internal.containers import RepeatedCompositeFieldContainer

    from envwire.v1 import status_pb2

_CATEGORIES: Final[dict[str, type[Warning]]] = {
    name: kind
    for name, kind in vars(builtins).items()
    if isinstance(kind, type) and issubclass(kind, Warning)
}


def encode_warnings(
    warnings: Iterable[tuple[type[Warning], str]],
    messages: RepeatedCompositeFieldContainer[status_pb2.Warning],
) -> None:
    """Writes warnings, each under the nearest builtin category.

    Args:
        warnings: Pairs of category and text.
        messages: Filled in place.
    """
    for category, text in warnings:
        messages.add(category=_builtin_name(category), text=printable(text))


def decode_warnings(
    messages: Iterable[status_pb2.Warning],
) -> list[tuple[type[Warning], str]]:
    """Reads pairs of category and text; unknown categories become UserWarning."""
    return [(_CATEGORIES.get(m.category, UserWarning), m.text) for m in messages]


def _builtin_name(category: type[Warning]) -> str:
    return next(kind.__name__ for kind in category.__mro__ if kind in _CATEGORIES.values())
