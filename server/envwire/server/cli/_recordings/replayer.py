"""Plays recorded requests to a new session, and finds the first field in which an answer differs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from envwire.client._errors import checked
from envwire.client._transports.by_name import open_transport
from envwire.client._transports.transport import Transport, call
from envwire.codec import decode_fault, decode_value, envwire_family
from envwire.codec.messages import is_repeated
from envwire.server._ipc.refusals import SESSION_REQUESTS
from envwire.server._recording.files import RecordingError
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import values_pb2

if TYPE_CHECKING:
    from google.protobuf.message import Message

    from envwire.server._recording.files import Exchange, RecordedSession


_CONNECT_SECONDS, _MAKE_SECONDS = 5.0, 120.0


class Replayer:
    """A session that is made like a recorded one and gets the same requests.

    Args:
        transport: Transport to a server, or to environments in this process.
        make: The recorded Make.

    Raises:
        RemoteError: The environment cannot be made.
    """

    def __init__(self, transport: Transport, make: pb.MakeRequest) -> None:
        self._transport = transport
        self._sequence = 0
        made = checked(call(transport, pb.InteractRequest(make=make), _MAKE_SECONDS)).make
        self._header = pb.SessionHeader(session_id=made.session_id, secret=made.secret)
        self._seconds = made.step_timeout.ToSeconds() + 10.0

    def ask(self, request: pb.InteractRequest) -> pb.InteractResponse:
        """Sends a request under this session's next number and returns the response.

        Raises:
            RecordingError: It is not a request to a session.
        """
        kind = request.WhichOneof("request") or ""
        if kind not in SESSION_REQUESTS:
            raise RecordingError(
                "the recording has a request that no session serves: it is damaged, or of a later version"
            )
        asked = pb.InteractRequest()
        asked.CopyFrom(request)
        body: Any = getattr(asked, kind)
        self._sequence += 1
        body.header.CopyFrom(self._header)
        body.sequence = self._sequence
        return call(self._transport, asked, self._seconds)

    def close(self) -> None:
        """Closes the session, unless a played request has closed it."""
        self.ask(pb.InteractRequest(close=pb.CloseRequest()))


def replay_transport(target: str, make: pb.MakeRequest, imports: list[str]) -> Transport:
    """Returns a transport to the environment.

    Args:
        target: HOST:PORT of a server; empty for this process.
        make: The recorded Make.
        imports: Modules that register environments, for this process.

    Raises:
        ImportError: A module cannot be imported.
        LookupError: The environment is not registered in this process.
        RecordingError: It names a wrapper of another module.
        RemoteError: No server answers at the target.
    """
    if target:
        return open_transport("stream", target, _CONNECT_SECONDS)
    from envwire.server.cli._drive.own_code import in_process

    return in_process(make.env_id, imports, _imported_wrappers(make, imports))


def _imported_wrappers(make: pb.MakeRequest, imports: list[str]) -> list[str]:
    """Returns the wrappers of modules in `imports`; a recording may be a stranger's, and imports nothing by itself."""
    modules = {name if not name.endswith(".py") else Path(name).stem for name in imports}
    names = [wrapper.name for wrapper in make.wrappers if ":" in wrapper.name]
    for name in names:
        module = name.partition(":")[0]
        if module not in modules:
            raise RecordingError(
                f"the recording names the wrapper {name}; if you trust that module, add --import {module}"
            )
    return names


@contextlib.contextmanager
def replaying(transport: Transport, make: pb.MakeRequest) -> Generator[Replayer]:
    """Makes a session; closes it and the transport at the end.

    Raises:
        RemoteError: The environment cannot be made.
    """
    with contextlib.closing(transport), contextlib.closing(Replayer(transport, make)) as replayer:
        yield replayer


def requests(recording: RecordedSession) -> Iterator[tuple[pb.InteractRequest, Exchange]]:
    """Yields the requests to play; those of a Replay one by one, unless its members began at different positions."""
    replayed: list[tuple[pb.InteractRequest, Exchange]] = []
    for exchange in recording.exchanges():
        if exchange.replayed:
            replayed.append((exchange.request, exchange))
        elif exchange.kind != "replay":
            yield exchange.request, exchange
        elif exchange.request.replay.member_starts:
            whole = pb.InteractRequest()
            whole.CopyFrom(exchange.request)
            whole.replay.requests.extend(each.SerializeToString() for each, _ in replayed)
            yield whole, exchange
            replayed = []
        else:
            yield from replayed
            replayed = []
    yield from replayed


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
