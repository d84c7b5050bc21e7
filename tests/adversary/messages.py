"""The requests of an attack. Only this module knows the format of a session's requests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from envwire.v1 import direct_pb2, values_pb2
from envwire.v1 import environment_pb2 as pb


@dataclass(frozen=True)
class Session:
    """A session that the attacker made.

    Attributes:
        made: What Make answered.
        target: HOST:PORT that it was made at.
    """

    made: pb.MakeResponse
    target: str

    @property
    def id(self) -> str:
        """The session's name."""
        return self.made.session_id

    @property
    def owner(self) -> pb.SessionHeader:
        """The session of the requests."""
        return pb.SessionHeader(session_id=self.made.session_id, secret=self.made.secret)

    def body(self, kind: str, sequence: int, **fields: Any) -> Any:
        """Returns a request of the session, as a unary call takes it."""
        message = pb.InteractRequest.DESCRIPTOR.fields_by_name[kind].message_type
        return getattr(pb, message.name)(header=self.owner, sequence=sequence, **fields)

    def request(self, kind: str, sequence: int, **fields: Any) -> bytes:
        """Returns a request of the session, as a stream takes it."""
        body = self.body(kind, sequence, **fields)
        return pb.InteractRequest(**{kind: body}).SerializeToString()

    def direct_request(self, kind: str, sequence: int, **fields: Any) -> bytes:
        """Returns a request of the session, as its direct channel takes it."""
        body = self.body(kind, sequence, **fields)
        body.ClearField("header")
        return pb.InteractRequest(**{kind: body}).SerializeToString()

    def copied(self) -> pb.MakeRequest:
        """Returns a request for a copy of the session."""
        return pb.MakeRequest(copy_of=self.owner)

    def hello(self, shared_memory: bool = False) -> bytes:
        """Returns the first bytes of a direct channel."""
        return direct_pb2.HelloRequest(
            header=self.owner, shared_memory=shared_memory
        ).SerializeToString()


def value(given: Any) -> values_pb2.Value:
    """Returns a plain value on the wire."""
    kinds = {bool: "bool_value", int: "int_value", float: "float_value", str: "string_value"}
    return values_pb2.Value(**{kinds[type(given)]: given})


def value_map(given: dict[str, Any]) -> values_pb2.ValueMap:
    """Returns a dictionary of plain values on the wire."""
    entries = [values_pb2.ValueEntry(name=name, value=value(each)) for name, each in given.items()]
    return values_pb2.ValueMap(entries=entries)


def make_request(
    env_id: str,
    *,
    kwargs: dict[str, Any] | None = None,
    wrappers: tuple[str, ...] = (),
    num_envs: int = 0,
    render_mode: str | None = None,
    lease: int = 0,
) -> pb.MakeRequest:
    """Returns a request for an environment."""
    request = pb.MakeRequest(
        env_id=env_id,
        kwargs=value_map(kwargs or {}),
        wrappers=[pb.WrapperRequest(name=name) for name in wrappers],
        render_mode=render_mode,
    )
    if num_envs:
        request.vector.num_envs = num_envs
    if lease:
        request.lease.seconds = lease
    return request


def smuggled(cover: bytes, hidden: pb.InteractRequest) -> bytes:
    """Returns a message that begins like `cover` and parses as `hidden`: the last member of a oneof wins."""
    return cover + hidden.SerializeToString()
