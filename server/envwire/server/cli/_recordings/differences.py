"""Finds the field in which two responses differ, for `envwire replay`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from envwire.codec import decode_fault, decode_value, envwire_family
from envwire.codec.messages import is_repeated
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import values_pb2

if TYPE_CHECKING:
    from google.protobuf.message import Message

_SHOWN = 200
#: Kinds of values that contain others, which are searched for the difference.
_HOLDING = frozenset({"list", "tuple", "set", "dict", "object_array", "graph"})
#: Fields that may differ between two runs of one environment. They are not compared, as in a replay's digest.
_BESIDE = frozenset({"notices", "warnings", "np_random_seed", "time"})
_TIMED = "episode"


class Difference(NamedTuple):
    """A field that differs.

    Attributes:
        field: Its path in the response: "step.observation", 'step.info["lives"]'.
        recorded: The recorded value.
        now: The value of the new response.
    """

    field: str
    recorded: str
    now: str


def difference(recorded: pb.InteractResponse, now: pb.InteractResponse) -> Difference | None:
    """Returns the first field in which two responses differ; None if they are equal."""
    return _in_messages("", recorded, now)


def _in_messages(path: str, recorded: Any, now: Any) -> Difference | None:
    if recorded.SerializeToString(deterministic=True) == now.SerializeToString(deterministic=True):
        return None
    compare = _COMPARE.get(recorded.DESCRIPTOR.name, _in_fields)
    return compare(path, recorded, now)


def _in_fields(path: str, recorded: Message, now: Message) -> Difference | None:
    for field in recorded.DESCRIPTOR.fields:
        if field.name in _BESIDE:
            continue
        name = f"{path}.{field.name}".lstrip(".")
        found = _in_field(name, field, recorded, now)
        if found is not None:
            return found
    return None


def _in_field(path: str, field: Any, recorded: Message, now: Message) -> Difference | None:
    was, this = getattr(recorded, field.name), getattr(now, field.name)
    if is_repeated(field):
        return _in_lists(path, list(was), list(this))
    if field.message_type is None:
        return None if repr(was) == repr(this) else Difference(path, _cut(was), _cut(this))
    here, there = recorded.HasField(field.name), now.HasField(field.name)
    if here != there:
        return Difference(path, _presence(here), _presence(there))
    return _in_messages(path, was, this) if here else None


def _in_lists(path: str, recorded: list[Any], now: list[Any]) -> Difference | None:
    for index, (was, this) in enumerate(zip(recorded, now, strict=False)):
        item = f"{path}[{index}]"
        if hasattr(was, "DESCRIPTOR"):
            found = _in_messages(item, was, this)
        else:
            found = None if was == this else Difference(item, _cut(was), _cut(this))
        if found is not None:
            return found
    if len(recorded) == len(now):
        return None
    return Difference(path, f"{len(recorded)} of them", f"{len(now)} of them")


def _in_values(path: str, recorded: values_pb2.Value, now: values_pb2.Value) -> Difference | None:
    kinds = {recorded.WhichOneof("kind"), now.WhichOneof("kind")}
    if kinds == {"opaque"}:  # their texts may contain addresses
        return None
    if len(kinds) == 1 and kinds <= _HOLDING:
        kind = str(recorded.WhichOneof("kind"))
        return _in_messages(path, getattr(recorded, kind), getattr(now, kind))
    return Difference(path, _shown(recorded), _shown(now))


def _in_maps(
    path: str, recorded: values_pb2.ValueMap, now: values_pb2.ValueMap
) -> Difference | None:
    left, right = (
        {_key(entry): entry.value for entry in each.entries if entry.name != _TIMED}
        for each in (recorded, now)
    )
    for key in (*left, *(key for key in right if key not in left)):
        item = f"{path}[{key}]"
        if key not in left or key not in right:
            return Difference(item, _presence(key in left), _presence(key in right))
        found = _in_messages(item, left[key], right[key])
        if found is not None:
            return found
    return None


def _in_errors(path: str, recorded: Any, now: Any) -> Difference | None:
    """Compares errors by reason and message only, since tracebacks contain file names and output process ids."""
    was, this = (decode_fault(each, envwire_family()) for each in (recorded, now))
    if (was.reason, was.message) == (this.reason, this.message):
        return None
    return Difference(path, *(_cut(f"{each.reason.value}: {each.message}") for each in (was, this)))


_COMPARE: dict[str, Callable[[str, Any, Any], Difference | None]] = {
    "Value": _in_values,
    "ValueList": lambda path, was, this: _in_lists(path, list(was.values), list(this.values)),
    "ValueMap": _in_maps,
    "ErrorStatus": _in_errors,
}


def _key(entry: values_pb2.ValueEntry) -> str:
    return _shown(entry.other) if entry.HasField("other") else repr(entry.name)


def _shown(value: values_pb2.Value) -> str:
    return _cut(decode_value(value, envwire_family()))


def _cut(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    text = "".join(each if each.isprintable() else " " for each in text)  # no control characters
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _presence(there: bool) -> str:
    return "there" if there else "not there"
