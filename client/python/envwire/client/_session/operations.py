"""The requests of a session that drive episodes: one class each, which writes the request and reads its answer.

Those for attributes, methods and generators are in `attribute_operations`.
Results have the names of `Env` and `VectorEnv`. An operation holds no state, and can be sent again, to the same session
or to another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

from envwire.client._errors.faults import exception
from envwire.client._session.requests import encoded
from envwire.codec import (
    Family,
    decode_fault,
    decode_mapping,
    decode_value,
    encode_mapping,
    encode_value,
)
from envwire.codec.steps.messages import read_step
from envwire.codec.steps.step_codec import StepResult
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import spaces_pb2
from envwire.wire.frames import Area

T_co = TypeVar("T_co", covariant=True)


class Operation(Protocol[T_co]):
    """A request of a session, and how its answer is read."""

    @property
    def kind(self) -> str:
        """The field of InteractRequest that it goes in; its answer comes in the field of the same name."""
        ...

    def write(self, body: Any, /) -> None:
        """Writes the request, except for its session and number.

        Raises:
            InvalidRequestError: A value has no wire form.
        """
        ...

    def read(self, answer: Any, area: Area | None, family: Family, /) -> T_co:
        """Reads the answer and its attachments; builds values of the family's classes."""
        ...


@dataclass(slots=True)
class Step:
    """One step; read as (the five of `step`, the generator's mirror or None).

    A named tuple would take 1,500 instructions more to make, at every step.

    Attributes:
        action: The action, or a batch of them.
        random_state: State to give the environment's generator first; None to leave it.
        mirror: Whether to tell the generator's state afterwards.
    """

    action: Any
    random_state: spaces_pb2.RandomState | None = None
    mirror: bool = False

    @property
    def kind(self) -> str:
        """The field of InteractRequest."""
        return "step"

    def write(self, body: pb.StepRequest) -> None:
        """Writes the request."""
        encoded(encode_value, self.action, body.action, "action")
        _write_random(body, self.random_state, self.mirror)

    def read(
        self, answer: pb.StepResponse, area: Area | None, family: Family
    ) -> tuple[StepResult, pb.RandomMirror | None]:
        """Reads the answer; reward and flags have the types that the environment gave them."""
        return read_step(answer, family, area), answer.random if self.mirror else None


class StepMany(NamedTuple):
    """Several steps in one request; read as (what each that was taken led to, what the next one failed with or None).

    Fewer may be taken than were asked for without an error: the rest is for another request.
    """

    actions: Sequence[Any]

    @property
    def kind(self) -> str:
        """The field of InteractRequest."""
        return "step"

    def write(self, body: pb.StepRequest) -> None:
        """Writes the request."""
        for index, action in enumerate(self.actions):
            encoded(encode_value, action, body.actions.add(), f"actions[{index}]")

    def read(
        self, answer: pb.StepResponse, _: Area | None, family: Family
    ) -> tuple[list[StepResult], BaseException | None]:
        """Reads the answers."""
        results = [read_step(each, family, None) for each in answer.steps]
        if not answer.HasField("error"):
            return results, None
        return results, exception(decode_fault(answer.error, family), family)


class Reset(NamedTuple):
    """The start of an episode; read as ((observation, info), the generator's mirror or None).

    Attributes:
        seed: None, a number (which grows by one from environment to environment of a vector), or one for each.
        options: Options of all; None for none.
        random_state: State to give the environment's generator first; None to leave it.
        mirror: Whether to tell the generator's state afterwards.
        member_options: Options of each environment of a vector, in place of those of all.
    """

    seed: Any = None
    options: Mapping[Any, Any] | None = None
    random_state: spaces_pb2.RandomState | None = None
    mirror: bool = False
    member_options: Sequence[Mapping[Any, Any]] = ()

    @property
    def kind(self) -> str:
        """The field of InteractRequest."""
        return "reset"

    def write(self, body: pb.ResetRequest) -> None:
        """Writes the request."""
        if self.seed is not None:
            encoded(encode_value, self.seed, body.seed, "seed")
        if self.options is not None:
            body.options.SetInParent()
            encoded(encode_mapping, self.options, body.options, "options")
        for each in self.member_options:
            encoded(encode_mapping, each, body.member_options.add(), "options")
        _write_random(body, self.random_state, self.mirror)

    def read(
        self, answer: pb.ResetResponse, area: Area | None, family: Family
    ) -> tuple[tuple[Any, dict[Any, Any]], pb.RandomMirror | None]:
        """Reads the answer."""
        observation = decode_value(answer.observation, family, area=area)
        info = decode_mapping(answer.info, family, area=area)
        return (observation, info), answer.random if self.mirror else None


class Render(NamedTuple):
    """A frame of the present state."""

    @property
    def kind(self) -> str:
        """The field of InteractRequest."""
        return "render"

    def write(self, body: pb.RenderRequest) -> None:
        """Writes the request, which is empty."""

    def read(self, answer: pb.RenderResponse, area: Area | None, family: Family) -> Any:
        """Reads the frame."""
        return decode_value(answer.frame, family, area=area)


class Replay(NamedTuple):
    """A part of a recording, to be served by another session."""

    part: pb.ReplayRequest

    @property
    def kind(self) -> str:
        """The field of InteractRequest."""
        return "replay"

    def write(self, body: pb.ReplayRequest) -> None:
        """Writes the request."""
        body.CopyFrom(self.part)

    def read(self, answer: pb.ReplayResponse, _: Area | None, __: Family) -> pb.ReplayResponse:
        """Returns the answer, for the recording to check."""
        return answer


class SaveState(NamedTuple):
    """Keeps the environment's state in the session; read as its number."""

    @property
    def kind(self) -> str:
        """The field of InteractRequest."""
        return "save_state"

    def write(self, body: pb.SaveStateRequest) -> None:
        """Writes the request, which is empty."""

    def read(self, answer: pb.SaveStateResponse, _: Area | None, __: Family) -> int:
        """Reads the number."""
        return answer.state


class RestoreState(NamedTuple):
    """Brings the environment back to a state."""

    state: int

    @property
    def kind(self) -> str:
        """The field of InteractRequest."""
        return "restore_state"

    def write(self, body: pb.RestoreStateRequest) -> None:
        """Writes the request."""
        body.state = self.state

    def read(self, answer: pb.RestoreStateResponse, _: Area | None, __: Family) -> None:
        """Returns None: the answer is empty."""


class Close(NamedTuple):
    """Closes the environment."""

    @property
    def kind(self) -> str:
        """The field of InteractRequest."""
        return "close"

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
