"""A hosted environment and its library's classes, whose exceptions become faults, and the answers to its requests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from envwire.codec import CodecError, Family, FaultError, Reason, fault_from_exception
from envwire.codec.values.encoding import decode_mapping, decode_value, decode_values
from envwire.codec.values.tensors import FillAllowance
from envwire.server._auth.attribute_access import EVERYTHING, AttributeAccess
from envwire.server._hosting.changed_spaces import ChangedSpaces
from envwire.server._hosting.np_random import restore
from envwire.server._hosting.vector.member_starts import MemberStarts
from envwire.server._hosting.vector.vector_hosts import RESET_MASK, MembersHost, is_vector
from envwire.server._session.snapshots import Snapshots
from envwire.v1 import environment_pb2, values_pb2
from envwire.wire.frames import Attachments


@dataclass
class Answer:
    """An answer under construction.

    Attributes:
        attachments: Receives large arrays, which are sent beside the message; None to write them into it.
        message: The message.
    """

    attachments: Attachments | None
    message: environment_pb2.InteractResponse = field(
        default_factory=environment_pb2.InteractResponse
    )


_T = TypeVar("_T")

_DECODERS: dict[type, Callable[..., Any]] = {
    values_pb2.Value: decode_value,
    values_pb2.ValueList: decode_values,
    values_pb2.ValueMap: decode_mapping,
}
#: A message that holds values.
_Values = values_pb2.Value | values_pb2.ValueList | values_pb2.ValueMap


@dataclass
class HostedEnv:
    """An environment with its library's classes, the attributes that clients may reach, and its saved states."""

    env: Any
    family: Family
    attribute_access: AttributeAccess = EVERYTHING

    def __post_init__(self) -> None:
        """Notes the environment's spaces, and detects whether it can save its state."""
        self.snapshots = Snapshots(self.env)
        self.spaces = ChangedSpaces(self.env)

    @property
    def member_resets(self) -> Sequence[environment_pb2.MemberReset]:
        """The resets of members during the last request, if the client asked for them at Make."""
        return self.env.member_resets if isinstance(self.env, MembersHost) else ()

    def read(self, message: _Values, allowance: FillAllowance | None = None) -> Any:
        """Decodes a value, a list or a mapping that a client sent.

        Args:
            message: The message.
            allowance: The allowance of a request with several of them; by default one for this one.

        Raises:
            FaultError: INVALID_VALUE.
        """
        try:
            decode = _DECODERS[type(message)]
            return decode(message, self.family, opaque=False, allowance=allowance)
        except CodecError as error:
            raise FaultError(Reason.INVALID_VALUE, str(error)) from error

    def read_each(self, messages: Iterable[_Values]) -> Iterator[Any]:
        """Decodes values of one request, which share its allowance.

        Raises:
            FaultError: INVALID_VALUE.
        """
        allowance = FillAllowance()
        return (self.read(message, allowance) for message in messages)

    def restore_generator(
        self, request: environment_pb2.ResetRequest | environment_pb2.StepRequest
    ) -> None:
        """Restores the state of the environment's generator that came with a request.

        Raises:
            FaultError: INVALID_VALUE: the state is invalid.
        """
        if request.HasField("np_random"):
            restore(self.env, request.np_random)

    def reset_members(self, request: environment_pb2.ResetRequest) -> Sequence[int] | None:
        """Returns the members of a vector environment that a reset selects by a mask; None for all of them."""
        if not is_vector(self.env) or not request.HasField("options"):
            return None
        mask = self.read(request.options).get(RESET_MASK)
        return mask if mask is None else [member for member, chosen in enumerate(mask) if chosen]

    def call(self, function: Callable[..., _T], /, *args: Any, **kwargs: Any) -> _T:
        """Calls the environment and maps whatever it raises.

        Raises:
            FaultError: ENVIRONMENT_RAISED or RESET_NEEDED, with the exception and the traceback.
        """
        try:
            return function(*args, **kwargs)
        except Exception as error:
            raise fault_from_exception(error, reason_of(error)) from error

    def chosen(self, members: Sequence[int]) -> Any:
        """Returns the members of a vector environment that a request names, or the environment if it names none.

        Raises:
            FaultError: UNSUPPORTED: the environment has no members. INVALID_VALUE: there is no such member.
        """
        return self.with_members().select(members) if members else self.env

    def beginning(self, starts: Sequence[environment_pb2.MemberStart]) -> MemberStarts:
        """Returns the members of a recording in which they begin at different positions.

        Raises:
            FaultError: UNSUPPORTED: the environment has no members. INVALID_VALUE: there is no such member.
        """
        return MemberStarts(self.with_members(), starts, self.family)

    def with_members(self) -> MembersHost:
        """Returns the environment as a vector environment with members.

        Raises:
            FaultError: UNSUPPORTED: the environment has no members.
        """
        if not isinstance(self.env, MembersHost):
            raise FaultError(
                Reason.UNSUPPORTED, "this environment has no members; ask without naming some"
            )
        return self.env


def reason_of(error: Exception) -> Reason:
    """Returns the reason that matches an environment's exception."""
    reset_needed = type(error).__name__ == "ResetNeeded"
    return Reason.RESET_NEEDED if reset_needed else Reason.ENVIRONMENT_RAISED
