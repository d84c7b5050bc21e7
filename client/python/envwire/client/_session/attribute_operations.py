"""The requests of a session for attributes, methods and random number generators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from envwire.codec import (
    Family,
    decode_random_state,
    decode_value,
    encode_mapping,
    encode_value,
    encode_values,
)
from envwire.v1 import environment_pb2 as pb
from envwire.wire.frames import Area


@dataclass(frozen=True, slots=True)
class _Read:
    """The request that reads an attribute.

    Attributes:
        name: Its name.
        members: Indices of the vector's environments to read it from; empty for all.
    """

    name: str
    members: Sequence[int] = ()

    kind: ClassVar = "get_attribute"

    def write(self, body: pb.GetAttributeRequest) -> None:
        """Writes the request."""
        body.name = self.name
        body.members.extend(self.members)


class GetAttribute(_Read):
    """Reads an attribute. Result: (its value, whether it is a method, in which case there is no value)."""

    def read(
        self, answer: pb.GetAttributeResponse, area: Area | None, family: Family
    ) -> tuple[Any, bool]:
        """Reads the value."""
        if answer.member_random:  # only copies of generators travel
            return tuple(_generators(answer)), False
        if answer.HasField("random"):
            return _generators(answer)[0], False
        method = answer.WhichOneof("result") == "callable"
        return (None if method else decode_value(answer.value, family, area=area)), method


class HasAttribute(_Read):
    """Checks whether an attribute exists. Result: a bool."""

    def write(self, body: pb.GetAttributeRequest) -> None:
        """Writes the request."""
        super().write(body)
        body.probe = True

    def read(self, answer: pb.GetAttributeResponse, _: Area | None, __: Family) -> bool:
        """Reads whether it exists."""
        return answer.exists


class GetRandom(_Read):
    """Reads the state of the environment's generator; "np_random" creates the generator if there is none."""

    def read(self, answer: pb.GetAttributeResponse, _: Area | None, __: Family) -> pb.RandomMirror:
        """Reads the state."""
        return answer.random


class GetGenerators(_Read):
    """Copies the generators of a vector environment. Result: a list of one for each environment, or one for all."""

    def read(self, answer: pb.GetAttributeResponse, _: Area | None, __: Family) -> list[Any]:
        """Reads the generators."""
        return _generators(answer)


def _generators(answer: pb.GetAttributeResponse) -> list[Any]:
    mirrors = answer.member_random or [answer.random]
    return [decode_random_state(mirror.np_random) for mirror in mirrors]


@dataclass(frozen=True, slots=True)
class SetAttribute:
    """Sets an attribute. Result: whether it was set.

    Attributes:
        name: Its name.
        value: Its value.
        force: Whether to create the attribute if it does not exist.
        members: Indices of the vector's environments to set it on; empty for all.
    """

    name: str
    value: Any
    force: bool = True
    members: Sequence[int] = ()

    kind: ClassVar = "set_attribute"

    def write(self, body: pb.SetAttributeRequest) -> None:
        """Writes the request."""
        body.members.extend(self.members)
        body.name, body.force = self.name, self.force
        encode_value(self.value, body.value, self.name)

    def read(self, answer: pb.SetAttributeResponse, _: Area | None, __: Family) -> bool:
        """Reads whether it was set."""
        return answer.set


@dataclass(frozen=True, slots=True)
class CallMethod:
    """Calls a method. Result: what the method returns.

    Attributes:
        name: Its name.
        args: Its arguments.
        kwargs: Its keyword arguments.
        members: Indices of the vector's environments to call it on; empty for all.
    """

    name: str
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    members: Sequence[int] = ()

    kind: ClassVar = "call_method"

    def write(self, body: pb.CallMethodRequest) -> None:
        """Writes the request."""
        body.members.extend(self.members)
        body.name = self.name
        encode_values(self.args, body.args, "args")
        encode_mapping(self.kwargs, body.kwargs, "kwargs")

    def read(self, answer: pb.CallMethodResponse, area: Area | None, family: Family) -> Any:
        """Reads the result."""
        return decode_value(answer.result, family, area=area)
