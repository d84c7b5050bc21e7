"""Fast path for values with the type and shape of the last one, without building a message.

Successive observations differ in their elements, not in type and shape. Writer and reader remember the bytes around the
elements and compare them. Values of another type or shape are left to protobuf.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final, TypeAlias

import numpy as np

from envwire.codec.fastpath.leaves import (
    INTEGERS,
    KNOWN,
    SHORT,
    UNKNOWN,
    ArrayLayout,
    FastPathMiss,
    ScalarTemplate,
    layout_of,
)
from envwire.codec.fastpath.trees import Node, build_template
from envwire.wire.frames import Area, Attachments

#: After this many values in a row that each have another form, a field stops learning forms, which would cost more than
#: it saves. It tries again with every `_AGAIN`th value.
_TRIES: Final = 4
_AGAIN: Final = 64

_NUMPY: Final = (np.ndarray, np.generic)

# Bound once: Python creates a method object at each access.
_spelled: Final = INTEGERS.get
_said: Final = KNOWN.get

Parts: TypeAlias = tuple[bytes, bytes]
"""A Value in two parts. If the first is the same object as before, the whole has the same length as before."""


def _may_learn(misses: int) -> bool:
    return misses <= _TRIES or misses % _AGAIN == 0


class _Learner:
    """The remembered form of one field's plain values and containers.

    Args:
        mark: The tag before a container; by default that of its kind in a Value.
    """

    def __init__(self, mark: bytes | None = None) -> None:
        self._mark, self._misses = mark, 0
        self._node: Node = ScalarTemplate()

    def learn(self, value: Any) -> None:
        """Remembers the form of a value that differs from the last one, for the next values."""
        self._misses += 1
        self._node = ScalarTemplate()  # for plain values, if this one is left to protobuf
        if _may_learn(self._misses):
            with suppress(FastPathMiss):
                self._node = build_template(value, self._mark)


class TreeWriter(_Learner):
    """Writes the plain values and the containers of one field; for its argument see `_Learner`."""

    def parts(self, value: Any, attachments: Attachments | None = None) -> Parts | None:
        """Returns the Value in two parts; None, with nothing attached, if it is left to protobuf."""
        known = _written(self._node, value, attachments)
        if known is not None:
            self._misses = 0
            return known
        self.learn(value)
        return _written(self._node, value, attachments)


def _written(node: Node, value: Any, attachments: Attachments | None) -> Parts | None:
    parts: list[bytes] = []
    before = (0, 0) if attachments is None else (len(attachments.buffers), attachments.length)
    try:
        node.write(value, parts, attachments)
    except FastPathMiss:
        if attachments is not None:
            attachments.cut(*before)
        return None
    return parts[0], b"".join(parts[1:])


class TreeReader(_Learner):
    """Reads the plain values and the containers of one field; for its argument see `_Learner`."""

    def read(self, raw: bytes, start: int, end: int, area: Area | None = None) -> Any:
        """Returns the value between `start` and `end`; UNKNOWN if it is left to protobuf."""
        try:
            value = self._node.read(raw, start, end, area)
        except FastPathMiss:
            return UNKNOWN
        self._misses = 0
        return value


class ValueWriter:
    """Writes the values of one field, such as an observation."""

    def __init__(self) -> None:
        self._misses = 0
        self._layout: ArrayLayout | None = None
        self._tree = TreeWriter()

    def write(self, value: Any) -> bytes | None:
        """Returns the Value; None if it is left to protobuf."""
        layout = self._layout
        if layout is not None and layout.fits(value):
            self._misses = 0
            return layout.inline + layout.elements(value)
        if type(value) is int and (known := _spelled(value)):
            return known
        parts = self.parts(value)
        return None if parts is None else parts[0] + parts[1]

    def parts(self, value: Any, attachments: Attachments | None = None) -> Parts | None:
        """Returns the Value in two parts.

        Args:
            value: Any value; the result is None if it is left to protobuf.
            attachments: Empty; receives the elements of large arrays.
        """
        layout = self._layout
        if layout is not None and layout.fits(value):
            self._misses = 0
        elif type(value) is int and (known := _spelled(value)):
            return known, b""
        elif not issubclass(type(value), _NUMPY):
            return self._tree.parts(value, attachments)
        else:
            self._misses += 1
            layout = self._layout = layout_of(value) if _may_learn(self._misses) else None
            if layout is None:
                return None
        if attachments is None or not layout.attachable:
            return layout.inline, layout.elements(value)
        return layout.attach(value, attachments), b""


class ValueReader:
    """Reads the values of one field.

    Attributes:
        layout: The layout of the last array or scalar.
    """

    def __init__(self) -> None:
        self._misses = 0
        self.layout: ArrayLayout | None = None
        self._tree = TreeReader()

    def learn(self, value: Any) -> None:
        """Remembers the form of a value that protobuf has read, for the next values."""
        if not issubclass(type(value), _NUMPY):
            self._tree.learn(value)
            return
        self._misses += 1
        self.layout = layout_of(value) if _may_learn(self._misses) else None

    def read(self, raw: bytes, start: int, end: int, area: Area | None = None) -> Any:
        """Returns the value between `start` and `end`; UNKNOWN if it is left to protobuf."""
        if self.layout is not None:
            value = self.layout.read(raw, start, end, area)
            if value is not UNKNOWN:
                self._misses = 0
                return value
        known = _said(raw[start:end], UNKNOWN) if end - start <= SHORT else UNKNOWN
        return self._tree.read(raw, start, end, area) if known is UNKNOWN else known
