"""The requests of a session that drive episodes: one class each, which writes the request and reads its answer.

Requests for attributes, methods and generators are in `attributes`. An operation holds no state of a session:
it can be sent again, to the same session or to another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar

from envwire.client._errors import exception
from envwire.codec import (
    Family,
    decode_fault,
    decode_mapping,
    decode_value,
    encode_mapping,
    encode_value,
)
from envwire.codec.steps import StepResult, read_step
from envwire.codec.values.tensors import FillAllowance
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import spaces_pb2
from envwire.wire.frames import Area

T_co = TypeVar("T_co", covariant=True)


class Operation(Protocol[T_co]):
    """A request of a session: writes the request and reads its answer."""

    #: Its field in InteractRequest; the answer is in the field of InteractResponse of the same name.
    kind: ClassVar[str]

    def write(self, body: Any, /) -> None:
        """Writes the request, except for its session and number.

        Raises:
            CodecError: A value has no wire form.
        """

    def read(self, answer: Any, area: Area | None, family: Family, /) -> T_co:
        """Reads the answer and its attachments; builds values of the family's classes."""
        ...


def numbered(operation: Operation[Any], number: int) -> bytes:
    """Returns a serialised request with a sequence number.

    Raises:
        CodecError: A value cannot be encoded.
    """
    request = pb.InteractRequest()
    body = getattr(request, operation.kind)
    body.SetInParent()
    operation.write(body)
    body.sequence = number
    return request.SerializeToString()


@dataclass(slots=True)
class Step:
    """One step. Result: (the tuple that `step` returns, the generator's state or None).

    It is not frozen: a frozen dataclass or a named tuple takes 1,500 instructions more to construct, at every step.

    Attributes:
        action: The action, or a batch of actions.
        random_state: State to set the environment's generator to first; None to leave it.
        mirror: Whether the answer is to include the generator's state.
    """

    action: Any
    random_state: spaces_pb2.RandomState | None = None
    mirror: bool = False

    kind: ClassVar = "step"

    def write(self, body: pb.StepRequest) -> None:
        """Writes the request."""
        encode_value(self.action, body.action, "action")
        _write_random(body, self.random_state, self.mirror)

    def read(
        self, answer: pb.StepResponse, area: Area | None, family: Family
    ) -> tuple[StepResult, pb.RandomMirror | None]:
        """Reads the answer; reward and flags have the types that the environment returned."""
        return read_step(answer, family, area), answer.random if self.mirror else None


@dataclass(frozen=True, slots=True)
class StepAhead:
    """A step that may be sent before earlier requests are answered.

    Result: (the tuple that `step` returns, when the step was taken on the server's clock); (None, None) if it was not.

    Attributes:
        action: The action, or a batch of actions.
        ahead: How many requests before it are unanswered; with none, it is taken in any case.
        timed: Whether to ask when it was taken.
    """

    action: Any
    ahead: int
    timed: bool = False

    kind: ClassVar = "step"

    def write(self, body: pb.StepRequest) -> None:
        """Writes the request."""
        encode_value(self.action, body.action, "action")
        body.ahead, body.report_time = self.ahead, self.timed

    def read(
        self, answer: pb.StepResponse, area: Area | None, family: Family
    ) -> tuple[StepResult | None, pb.StepTime | None]:
        """Reads the answer."""
        if answer.not_taken:
            return None, None
        return read_step(answer, family, area), answer.time if answer.HasField("time") else None


@dataclass(frozen=True, slots=True)
class StepMany:
    """Several steps in one request. Result: (the results of the steps taken, the error of the next step or None).

    The server may take fewer steps than there are actions without an error; another request takes the rest.
    """

    actions: Sequence[Any]

    kind: ClassVar = "step"

    def write(self, body: pb.StepRequest) -> None:
        """Writes the request."""
        for index, action in enumerate(self.actions):
            encode_value(action, body.actions.add(), f"actions[{index}]")

    def read(
        self, answer: pb.StepResponse, area: Area | None, family: Family
    ) -> tuple[list[StepResult], BaseException | None]:
        """Reads the answers."""
        allowance = FillAllowance()
        results = [read_step(each, family, area, allowance) for each in answer.steps]
        if not answer.HasField("error"):
            return results, None
        return results, exception(decode_fault(answer.error, family), family)


class NewSpaces(NamedTuple):
    """The spaces of an environment that are not those with which it was made; None for one that is."""

    observation_space: spaces_pb2.Space | None = None
    action_space: spaces_pb2.Space | None = None

    @classmethod
    def of(cls, answer: pb.ResetResponse) -> NewSpaces:
        """Returns those of the answer to a reset."""
        return cls(
            answer.observation_space if answer.HasField("observation_space") else None,
            answer.action_space if answer.HasField("action_space") else None,
        )


@dataclass(frozen=True, slots=True)
class Reset:
    """The start of an episode. Result: ((observation, info), the generator's state or None, the new spaces).

    Attributes:
        seed: None; a number, from which environment i of a vector gets `seed + i`; or one for each environment.
        options: Options for all environments, or None.
        random_state: State to set the environment's generator to first; None to leave it.
        mirror: Whether the answer is to include the generator's state.
        member_options: Options for each environment of a vector, instead of `options`.
    """

    seed: Any = None
    options: Mapping[Any, Any] | None = None
    random_state: spaces_pb2.RandomState | None = None
    mirror: bool = False
    member_options: Sequence[Mapping[Any, Any]] = ()

    kind: ClassVar = "reset"

    def write(self, body: pb.ResetRequest) -> None:
        """Writes the request."""
        if self.seed is not None:
            encode_value(self.seed, body.seed, "seed")
        if self.options is not None:
            body.options.SetInParent()
            encode_mapping(self.options, body.options, "options")
        for each in self.member_options:
            encode_mapping(each, body.member_options.add(), "options")
        _write_random(body, self.random_state, self.mirror)

    def read(
        self, answer: pb.ResetResponse, area: Area | None, family: Family
    ) -> tuple[tuple[Any, dict[Any, Any]], pb.RandomMirror | None, NewSpaces]:
        """Reads the answer."""
        allowance = FillAllowance()
        observation = decode_value(answer.observation, family, area=area, allowance=allowance)
        info = decode_mapping(answer.info, family, area=area, allowance=allowance)
        return (observation, info), answer.random if self.mirror else None, NewSpaces.of(answer)


class Render:
    """Renders the current state. Result: the frame."""

    kind: ClassVar = "render"

    def write(self, body: pb.RenderRequest) -> None:
        """Writes the request, which is empty."""

    def read(self, answer: pb.RenderResponse, area: Area | None, family: Family) -> Any:
        """Reads the frame."""
        return decode_value(answer.frame, family, area=area)


@dataclass(frozen=True, slots=True)
class Replay:
    """A part of a recording, for a new session to replay. Result: the answer."""

    part: pb.ReplayRequest

    kind: ClassVar = "replay"

    def write(self, body: pb.ReplayRequest) -> None:
        """Writes the request."""
        body.CopyFrom(self.part)

    def read(self, answer: pb.ReplayResponse, _: Area | None, __: Family) -> pb.ReplayResponse:
        """Returns the answer, which the recording checks."""
        return answer


class SaveState:
    """Saves the environment's state in the session. Result: the number of the saved state."""

    kind: ClassVar = "save_state"

    def write(self, body: pb.SaveStateRequest) -> None:
        """Writes the request, which is empty."""

    def read(self, answer: pb.SaveStateResponse, _: Area | None, __: Family) -> int:
        """Reads the number."""
        return answer.state


@dataclass(frozen=True, slots=True)
class RestoreState:
    """Restores a state that `SaveState` saved."""

    state: int

    kind: ClassVar = "restore_state"

    def write(self, body: pb.RestoreStateRequest) -> None:
        """Writes the request."""
        body.state = self.state

    def read(self, answer: pb.RestoreStateResponse, _: Area | None, __: Family) -> None:
        """Returns None: the answer is empty."""


class Close:
    """Closes the environment."""

    kind: ClassVar = "close"

    def write(self, body: pb.CloseRequest) -> None:
        """Writes the request, which is empty."""

    def read(self, answer: pb.CloseResponse, _: Area | None, __: Family) -> None:
        """Returns None: the answer is empty."""


def _write_random(
    body: pb.ResetRequest | pb.StepRequest, state: spaces_pb2.RandomState | None, mirror: bool
) -> None:
    body.mirror_np_random = mirror
    if state is not None:
        body.np_random.CopyFrom(state)
