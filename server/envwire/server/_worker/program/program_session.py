"""A session whose environment is in a program: requests and answers pass as they are.

Numbering, repetition, recordings and replays are the session's own, as for every environment. So a program answers each
request once and in order, and need not be able to replay.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, cast

from google.protobuf.message import DecodeError

from envwire.codec import (
    CodecError,
    FaultError,
    Reason,
    decode_fault,
    decode_mapping,
    decode_space,
    decode_value,
    envwire_family,
)
from envwire.server._auth.attribute_access import AttributeAccess
from envwire.server._session.hosted_env import WarningLog
from envwire.server._session.session import Session
from envwire.server._session.states import TRANSITIONS, Event
from envwire.server._worker.program.program import Program
from envwire.server._worker.recording_session import RecordingSession
from envwire.v1 import environment_pb2 as pb
from envwire.wire.frames import Attachments, Packet

#: Fields of a MakeResponse that describe the environment; the others are the server's to fill in.
_DESCRIBING = (
    "library",
    "observation_space",
    "action_space",
    "metadata",
    "render_mode",
    "reward_range",
    "spec",
    "description",
    "vector",
)


class ProgramEnv:
    """What the server itself uses of a program's environment: its description, frames for watchers, and the end.

    Args:
        made: The program's answer to Make.
        ask: Sends a request of the server's own to the program; returns the answer.

    Raises:
        FaultError: INTERNAL: the description is invalid.
    """

    def __init__(self, made: pb.MakeResponse, ask: Callable[..., pb.InteractResponse]) -> None:
        family = envwire_family()
        try:
            self.observation_space = decode_space(made.observation_space, family)
            self.action_space = decode_space(made.action_space, family)
            self.metadata = decode_mapping(made.metadata, family, "metadata")
        except CodecError as error:
            raise FaultError(
                Reason.INTERNAL, f"the program describes its environment wrongly: {error}"
            ) from error
        self.render_mode = made.render_mode if made.HasField("render_mode") else None
        self._ask = ask

    @property
    def unwrapped(self) -> ProgramEnv:
        """The environment itself."""
        return self

    def render(self) -> Any:
        """Returns the current frame."""
        return decode_value(self._ask(render=pb.RenderRequest()).render.frame, envwire_family())

    def close(self) -> None:
        """Closes the environment."""
        self._ask(close=pb.CloseRequest())


class ProgramSession(Session):
    """A session whose requests a program answers.

    Args:
        program: The program.
        made: Its answer to the Make.
        warning_log: Receives no warnings: those of the environment are in the program's answers.
        attribute_access: The attributes that clients may reach.
        on_raised: Called with each exception of the environment.
        max_message_bytes: Longest answer.

    Attributes:
        program: The program.
        made: Its answer to the Make.

    Raises:
        FaultError: INTERNAL: the program describes its environment wrongly.
    """

    attaches = False

    def __init__(
        self,
        program: Program,
        made: pb.MakeResponse,
        warning_log: WarningLog,
        attribute_access: AttributeAccess,
        on_raised: Callable[[FaultError], None],
        max_message_bytes: int,
    ) -> None:
        self.program, self.made = program, made
        self._number = 0  # of the last request that the program has answered
        self._raw = b""
        env, family = ProgramEnv(self.made, self._ask_own), envwire_family()
        super().__init__(env, family, warning_log, attribute_access, on_raised, max_message_bytes)
        self._steps_at_once = self.made.vector.num_envs if self._is_vector else 1
        self._decode_step = _undecoded

    @property
    def _is_vector(self) -> bool:
        return self.made.HasField("vector")

    @property
    def capabilities(self) -> list[str]:
        """Those of the program, and the server's. Only a vector's replay needs its help: members have histories."""
        passed_on = {"chunk", "save_state", *(["replay"] if self._is_vector else [])}
        own = [name for name in self.made.capabilities if name in passed_on]
        return ["ahead", *own] if self._is_vector else ["ahead", *own, "replay"]

    @property
    def description(self) -> pb.MakeResponse:
        """The program's answer to Make, without what is the server's to say."""
        description = pb.MakeResponse()
        description.CopyFrom(self.made)
        for field, _ in self.made.ListFields():
            if field.name not in _DESCRIBING:
                description.ClearField(cast(Any, field.name))
        return description

    def count_episodes(self) -> None:
        """Counts episodes from now on, unless the program hosts a vector environment."""
        if not self._is_vector:
            super().count_episodes()

    def handle(self, raw: bytes, attach: bool = False, attach_step: bool = True) -> Packet:
        """Serves one request (see `Session.handle`)."""
        self._raw = raw
        return super().handle(raw, attach, attach_step)

    def _serve(self, kind: str, body: Any, attachments: Attachments | None) -> Packet:
        if kind == "replay" and not self._is_vector:
            self._raw = b""  # the requests in it are numbered anew
            return super()._serve(kind, body, attachments)
        return self._hidden(kind, body) or self._pass_on(kind, body)

    def _hidden(self, kind: str, body: Any) -> Packet | None:
        """Returns the answer that an attribute is not there, where clients may not learn that it is.

        Raises:
            FaultError: ATTRIBUTE_NOT_ALLOWED.
        """
        access = self.hosted.attribute_access
        if kind == "get_attribute" and body.probe and not access.sees(body.name):
            return Packet(
                pb.InteractResponse(get_attribute=pb.GetAttributeResponse()).SerializeToString()
            )
        if kind in _CHECKS and not getattr(body, "probe", False):
            _CHECKS[kind](access, body.name)
        return None

    def _serve_step(
        self, body: pb.StepRequest, attachments: Attachments | None, max_chunk_bytes: int | None
    ) -> Packet:
        del attachments, max_chunk_bytes
        return self._pass_on("step", body)

    def _pass_on(self, kind: str, body: Any) -> Packet:
        begun = time.perf_counter_ns()
        raw = self.program.ask(self._numbered(kind, body))
        if kind == "step":
            self.stepping += time.perf_counter_ns() - begun
        self._note(kind, body, _parsed(raw))
        return Packet(raw)

    def _numbered(self, kind: str, body: Any) -> bytes:
        """Returns the request with its number at the program: the client's, until the server asks something itself."""
        self._number += 1
        if self._raw and body.sequence == self._number:
            return self._raw
        body.sequence = self._number
        body.ClearField("header")  # of a lost session
        return pb.InteractRequest(**{kind: body}).SerializeToString()

    def _note(self, kind: str, body: Any, response: pb.InteractResponse) -> None:
        """Notes what a program's answer means for the session: its state, its counts, and errors for the log."""
        if response.HasField("error"):
            self._note_error(kind, response)
        elif kind in {"reset", "restore_state"}:
            self.state = TRANSITIONS[self.state, Event.RESET]
            if self.statistics is not None:
                self.statistics.episodes.begin() if kind == "reset" else self.statistics.episodes.leave()
        elif kind == "step" and not body.actions:
            self._note_step(response.step)
        elif kind == "step":
            for step in response.step.steps:
                self._note_step(step)
                self.count()
        elif kind == "close":
            self.program.leave()

    def _note_step(self, step: pb.StepResponse) -> None:
        self.steps += self._steps_at_once
        ended = step.terminated or step.truncated
        self.state = TRANSITIONS[self.state, Event.STEP_ENDED if ended else Event.STEP]
        if self.statistics is not None:
            self.statistics.add((None, step.reward, step.terminated, step.truncated, {}))

    def _note_error(self, kind: str, response: pb.InteractResponse) -> None:
        fault = decode_fault(response.error, envwire_family())
        if fault.reason is Reason.MALFORMED_REQUEST:
            self._number -= 1  # the program did not use it
        elif fault.reason is Reason.ENVIRONMENT_RAISED:
            self._on_raised(fault)
        if kind == "close":
            self.program.leave()

    def _ask_own(self, **request: Any) -> pb.InteractResponse:
        """Asks the program something for the server itself.

        Raises:
            FaultError: It answered with an error.
        """
        ((kind, body),) = request.items()
        self._raw = b""
        response = _parsed(self._answer_own(kind, body))
        if response.HasField("error"):
            raise decode_fault(response.error, envwire_family())
        return response

    def _answer_own(self, kind: str, body: Any) -> bytes:
        return self.program.ask(self._numbered(kind, body))

    def end(self) -> None:
        """Closes the environment if the client did not, and ends the program."""
        try:
            super().end()
        finally:
            self.program.leave()


class RecordingProgramSession(RecordingSession, ProgramSession):
    """A session whose requests a program answers, and that is recorded."""

    @property
    def capabilities(self) -> list[str]:
        """Those of the program, without what only the program would know: the requests of a replay."""
        own = super().capabilities
        return [name for name in own if name != "replay"] if self._is_vector else own


def _undecoded(raw: bytes) -> tuple[int, Any] | None:
    """Decodes no step: the program reads the action."""
    del raw
    return None


_CHECKS: dict[str, Callable[[AttributeAccess, str], None]] = {
    "get_attribute": AttributeAccess.check_read,
    "set_attribute": AttributeAccess.check_set,
    "call_method": AttributeAccess.check_call,
}


def _parsed(raw: bytes) -> pb.InteractResponse:
    """Parses an answer of the program.

    Raises:
        FaultError: INTERNAL: it is no InteractResponse.
    """
    try:
        return pb.InteractResponse.FromString(raw)
    except DecodeError as error:
        raise FaultError(
            Reason.INTERNAL, f"the program's answer is no InteractResponse: {error}"
        ) from error
