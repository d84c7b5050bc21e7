"""A hosted environment and its library's classes, whose exceptions become faults, and the answers to its requests."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from envwire.codec import (
    CodecError,
    Family,
    FaultError,
    Reason,
    encode_space,
    encode_warnings,
    fault_from_exception,
)
from envwire.codec.values.encoding import decode_mapping, decode_value, decode_values
from envwire.codec.values.tensors import FillAllowance
from envwire.server._auth.attribute_access import EVERYTHING, AttributeAccess
from envwire.server._hosting.np_random import restore
from envwire.server._hosting.vector_hosts import RESET_MASK, MembersHost, is_vector
from envwire.server._hosting.vector_members import SPACES
from envwire.server._session.replay import MemberStarts
from envwire.server._session.snapshots import Snapshots
from envwire.v1 import environment_pb2, spaces_pb2, values_pb2
from envwire.wire.frames import Attachments


class WarningLog:
    """The warnings of one session, which are issued again in its client's process."""

    def __init__(self) -> None:
        self.given: list[tuple[type[Warning], str]] = []

    def take(self) -> list[tuple[type[Warning], str]]:
        """Returns and clears the warnings since the last call."""
        given, self.given = self.given, []
        return given

    def move_to(self, body: Any) -> None:
        """Writes the warnings since the last call into the body of an answer."""
        body.warnings.extend(encode_warnings(self.take()))


class WarningRecorder:
    """Adds the process's warnings to the log of the session that is being served.

    It is installed only in session processes, whose warnings would otherwise reach no user.

    Attributes:
        log: Log of the session that is being served.
    """

    def __init__(self) -> None:
        self.log = WarningLog()

    @contextmanager
    def installed(self) -> Generator[None]:
        """Replaces `warnings.showwarning`; filters are applied in the client's process."""
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = self._record
            yield

    def _record(self, message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        self.log.given.append((category, str(message)))


class ChangedSpaces:
    """The spaces of one environment: those that it was made with, and those after its last reset.

    Those of a vector environment cannot change: its host refuses a reset that changes them.

    Args:
        env: The environment, with its wrappers.
    """

    def __init__(self, env: Any) -> None:
        names = () if is_vector(env) else SPACES
        self._spaces = [_FollowedSpace(name, getattr(env, name, None)) for name in names]

    def write(self, env: Any, response: environment_pb2.ResetResponse) -> None:
        """Writes the spaces that differ from the first ones.

        Raises:
            FaultError: UNSUPPORTED: a space has no wire form.
        """
        for space in self._spaces:
            message = space.follow(getattr(env, space.name, None))
            if message is not None:
                getattr(response, space.name).CopyFrom(message)


class _FollowedSpace:
    """One space. The same object is compared by identity alone, because comparing the bounds of a Box takes 40 us."""

    def __init__(self, name: str, made: Any) -> None:
        self.name = name
        self._made = self._last = made
        self._message: spaces_pb2.Space | None = None

    def follow(self, space: Any) -> spaces_pb2.Space | None:
        """Returns the message of a space; None for the space from the beginning."""
        if space is not self._last:
            self._last = space
            self._message = None if space == self._made else self._written(space)
        return self._message

    def _written(self, space: Any) -> spaces_pb2.Space:
        message = spaces_pb2.Space()
        try:
            encode_space(space, message, self.name)
        except CodecError as error:
            raise FaultError(Reason.UNSUPPORTED, str(error)) from error
        return message


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
