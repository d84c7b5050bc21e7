"""The requests of a session for attributes, methods and random number generators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from envwire.client._session.requests import encoded
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


class GetAttribute(NamedTuple):
    """An attribute; read as (its value, whether it is a method instead).

    Attributes:
        name: Its name.
        members: Environments of a vector to look at, by index; empty for all.
    """

    name: str
    members: Sequence[int] = ()

    @property
    def kind(self) -> str:
        """The field of InteractRequest."""
        return "get_attribute"

    def write(self, body: pb.GetAttributeRequest) -> None:
        """Writes the request."""
        body.name = self.name
        body.members.extend(self.members)

    def read(
        self, answer: pb.GetAttributeResponse, area: Area | None, family: Family
    ) -> tuple[Any, bool]:
        """Reads the value."""
        method = answer.WhichOneof("result") == "callable"
        return (None if method else decode_value(answer.value, family, area=area)), method


class HasAttribute(NamedTuple):
    """Whether an attribute exists."""

    name: str

    @property
    def kind(self) -> str:
        """The field of InteractRequest."""
        return "get_attribute"

    def write(self, body: pb.GetAttributeRequest) -> None:
        """Writes the request."""
        body.name, body.probe = self.name, True

    def read(self, answer: pb.GetAttributeResponse, _: Area | None, __: Family) -> bool:
        """Reads whether it does."""
        return answer.exists


class GetRandom(NamedTuple):
    """The mirror of the environment's generator; reading "np_random" creates it when there is none."""

    name: str = "np_random"

    @property
    def kind(self) -> str:
        """The field of InteractRequest."""
        return "get_attribute"

    def write(self, body: pb.GetAttributeRequest) -> None:
        """Writes the request."""
        body.name = self.name

    def read(self, answer: pb.GetAttributeResponse, _: Area | None, __: Family) -> pb.RandomMirror:
        """Reads the mirror."""
        return answer.random


class GetGenerators(NamedTuple):
    """Copies of the generators of a vector environment: one for each environment, or one for all."""

    @property
    def kind(self) -> str:
        """The field of InteractRequest."""
        return "get_attribute"

    def write(self, body: pb.GetAttributeRequest) -> None:
        """Writes the request."""
        body.name = "np_random"

    def read(self, answer: pb.GetAttributeResponse, _: Area | None, __: Family) -> list[Any]:
        """Reads the generators."""
        mirrors = answer.member_random or [answer.random]
        return [decode_random_state(mirror.np_random) for mirror in mirrors]


class SetAttribute(NamedTuple):
    """Sets an attribute; read as whether it was set.

    Attributes:
        name: Its name.
        value: Its value.
        force: Whether to create it where there is none.
        members: Environments of a vector to set it on, by index; empty for all.
    """

    name: str
    value: Any
    force: bool = True
    members: Sequence[int] = ()

    @property
    def kind(self) -> str:
        """The field of InteractRequest."""
        return "set_attribute"

    def write(self, body: pb.SetAttributeRequest) -> None:
        """Writes the request."""
        body.members.extend(self.members)
        body.name, body.force = self.name, self.force
        encoded(encode_value, self.value, body.value, self.name)

    def read(self, answer: pb.SetAttributeResponse, _: Area | None, __: Family) -> bool:
        """Reads whether it was set."""
        return answer.set


class CallMethod(NamedTuple):
    """Calls a method; read as its result.

    Attributes:
        name: Its name.
        args: Its arguments.
        kwargs: Its keyword arguments.
        members: Environments of a vector to call it on, by index; empty for all.
    """

    name: str
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    members: Sequence[int] = ()

    @property
    def kind(self) -> str:
        """The field of InteractRequest."""
        return "call_method"

    def write(self, body: pb.CallMethodRequest) -> None:
        """Writes the request."""
        body.members.extend(self.members)
        body.name = self.name
        encoded(encode_values, self.args, body.args, "args")
        encoded(encode_mapping, self.kwargs, body.kwargs, "kwargs")

    def read(self, answer: pb.CallMethodResponse, area: Area | None, family: Family) -> Any:
        """Reads the result."""
        return decode_value(answer.result, family, area=area)
