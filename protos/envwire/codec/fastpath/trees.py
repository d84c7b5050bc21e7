"""Fast path for dicts, tuples and lists that have the structure of the last one: only their leaves change.

A tree remembers nested containers: the bytes before each element, and the element's last length. If an element has the
same length again, the remembered bytes are joined or compared unchanged; otherwise the lengths around it are written or
parsed again. Containers of another type, other keys, and values of a type without leaves raise `FastPathMiss`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from operator import is_
from typing import Any, Final, TypeAlias, cast

from envwire.codec.fastpath.leaves import WRITERS, FastPathMiss, ScalarTemplate
from envwire.v1 import values_pb2
from envwire.wire.frames import Area, Attachments
from envwire.wire.varints import read_varint, tag, varint

_MARKS: Final[dict[Any, bytes]] = {
    list: tag(values_pb2.Value, "list"),
    tuple: tag(values_pb2.Value, "tuple"),
    dict: tag(values_pb2.Value, "dict"),
}
_ELEMENT: Final = tag(values_pb2.ValueList, "values")
_ENTRY: Final = tag(values_pb2.ValueMap, "entries")
_NAME: Final = tag(values_pb2.ValueEntry, "name")
_VALUE: Final = tag(values_pb2.ValueEntry, "value")

#: Largest tree. Larger values take most of their time in their elements, and their trees would take much memory.
_MAX_NODES: Final = 1024
_MAX_LEVELS: Final = 8


Fitted: TypeAlias = tuple[int, bytes, int]


class _Slot:
    """One element of a container, and the bytes before an element of its length.

    Args:
        node: The node of the element.
        before: Bytes before the length of the element; in a dictionary, within its entry.

    Attributes:
        fitted: Length of the element, the bytes before it, and their length. One tuple, so that an interrupted step
            leaves all three consistent.
    """

    def __init__(self, node: Node, before: bytes = _ELEMENT) -> None:
        self.node, self._before = node, before
        self.fitted = self.fit(0)

    def fit(self, length: int) -> Fitted:
        """Sets the length of the element."""
        prefix = self._prefix(length)
        self.fitted = length, prefix, len(prefix)
        return self.fitted

    def find(self, raw: bytes, index: int) -> Fitted:
        """Sets the length of the element from bytes that should begin with a slot like this one."""
        length, _ = read_varint(raw, self._skip(raw, index) + len(self._before))
        fitted = self.fit(length)
        if not raw.startswith(fitted[1], index):
            raise FastPathMiss
        return fitted

    def _prefix(self, length: int) -> bytes:
        return self._before + varint(length)

    def _skip(self, raw: bytes, index: int) -> int:  # noqa: ARG002 - entries read it
        """Returns the index at which `before` should begin."""
        return index


class _Entry(_Slot):
    """One item of a dictionary."""

    def _prefix(self, length: int) -> bytes:
        inside = super()._prefix(length)
        return b"".join((_ENTRY, varint(len(inside) + length), inside))

    def _skip(self, raw: bytes, index: int) -> int:
        return read_varint(raw, index + len(_ENTRY))[1]


class _Branch:
    """A node of containers of one type with one number of elements.

    Args:
        mark: The tag before the container.
        slots: The slots of its elements.
    """

    def __init__(self, mark: bytes, slots: list[_Slot]) -> None:
        self._mark, self._slots = mark, slots
        self._fitted = 0, mark + b"\0"

    def write(self, value: Any, parts: list[bytes], attachments: Attachments | None) -> int:
        """Appends a container to `parts` and returns its length.

        The first part is the same object as for the last container if that was as long.
        """
        elements = self._elements(value)
        begin, total = len(parts), 0
        known, head = self._fitted
        parts.append(head)
        for slot, element in zip(self._slots, elements, strict=True):
            at = len(parts)
            last, prefix, ahead = slot.fitted
            parts.append(prefix)
            length = slot.node.write(element, parts, attachments)
            if length != last:
                _, parts[at], ahead = slot.fit(length)
            total += ahead + length
        if total != known:
            parts[begin] = head = self._mark + varint(total)
            self._fitted = total, head
        return len(head) + total

    def read(self, raw: bytes, start: int, end: int, area: Area | None) -> Any:
        """Returns the container from `start` to `end`, all of which it has to take up."""
        length, index = read_varint(raw, start + 1)
        if raw[start : start + 1] != self._mark or index + length != end:
            raise FastPathMiss
        values: list[Any] = []
        for slot in self._slots:
            length, prefix, ahead = slot.fitted
            if not raw.startswith(prefix, index):
                length, _, ahead = slot.find(raw, index)
            start = index + ahead
            index = start + length
            if index > end:
                raise FastPathMiss
            values.append(slot.node.read(raw, start, index, area))
        if index != end:
            raise FastPathMiss
        return self._built(values)

    def _elements(self, value: Any) -> Iterable[Any]:
        """Returns the elements of a container; raises `FastPathMiss` if it is not like the last one."""
        raise NotImplementedError

    def _built(self, values: list[Any]) -> Any:
        """Returns a container of these elements."""
        raise NotImplementedError


class _Row(_Branch):
    """A node of lists, or of tuples."""

    def __init__(self, mark: bytes, elements: Any, build_template: Callable[[Any], Node]) -> None:
        super().__init__(mark, [_Slot(build_template(element)) for element in elements])
        self._kind: type[Any] = type(elements)

    def _elements(self, value: Any) -> Iterable[Any]:
        if type(value) is not self._kind or len(value) != len(self._slots):
            raise FastPathMiss
        return cast("Iterable[Any]", value)

    def _built(self, values: list[Any]) -> Any:
        return values if self._kind is list else tuple(values)


class _Table(_Branch):
    """A node of dictionaries with the same keys in the same order."""

    def __init__(
        self, mark: bytes, items: dict[Any, Any], build_template: Callable[[Any], Node]
    ) -> None:
        names = tuple(items)
        super().__init__(
            mark, [_Entry(build_template(items[name]), _before_item(name)) for name in names]
        )
        self._names: tuple[str, ...] = names

    def _elements(self, value: Any) -> Iterable[Any]:
        if type(value) is not dict:
            raise FastPathMiss
        items = cast("dict[str, Any]", value)
        if len(items) != len(self._names) or not (
            all(map(is_, items, self._names)) or self._has(items)
        ):
            raise FastPathMiss
        return items.values()

    def _has(self, items: dict[str, Any]) -> bool:
        """Returns whether the keys of a dictionary equal these; a key of a `str` subclass does not."""
        return all(type(name) is str for name in items) and tuple(items) == self._names

    def _built(self, values: list[Any]) -> Any:
        return dict(zip(self._names, values, strict=True))


Node: TypeAlias = ScalarTemplate | _Row | _Table

_BRANCHES: Final[dict[Any, type[_Row | _Table]]] = {list: _Row, tuple: _Row, dict: _Table}


def build_template(value: Any, mark: bytes | None = None) -> Node:
    """Returns a node for values like this one.

    Args:
        value: The value.
        mark: The tag before the value if it is a container; by default that of its kind in a Value.

    Raises:
        FastPathMiss: It has too many parts, or parts that are left to protobuf.
    """
    return _grown(value, iter(range(_MAX_NODES)), _MAX_LEVELS, mark)


def _grown(value: Any, room: Iterator[int], levels: int, mark: bytes | None = None) -> Node:
    if next(room, None) is None:
        raise FastPathMiss
    own = _MARKS.get(type(value))
    if own is None:
        return ScalarTemplate(value)
    if not levels:
        raise FastPathMiss
    branch = _BRANCHES[type(value)]
    return branch(mark or own, value, lambda part: _grown(part, room, levels - 1))


def _before_item(name: Any) -> bytes:
    """Returns the bytes of an entry before the length of its value."""
    if type(name) is not str:
        raise FastPathMiss
    text = WRITERS[str](name)[1:]
    return b"".join((_NAME, text, _VALUE))
