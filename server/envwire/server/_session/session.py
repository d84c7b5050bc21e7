"""A session on the server: serves the requests of one environment exactly once each. Bytes in, bytes out; no I/O.

Every request carries a number, one more than the last. The last reply is kept, and a repeated number gets it again
without any effect, so a client that lost a reply simply repeats its request. A request that cannot be served uses up
its number as well; its error is the kept reply. A step that is sent ahead of answers keeps those as well.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from google.protobuf.message import DecodeError

from envwire.codec import CodecError, Family, FaultError, Reason, fault_from_exception
from envwire.codec.fastpath.attached_arrays import inline_arrays
from envwire.codec.fastpath.step_codec import step_codec
from envwire.codec.steps import DeviceStepCodec, StepCodec
from envwire.server._auth.attribute_access import EVERYTHING, AttributeAccess
from envwire.server._hosting.vector_hosts import is_vector
from envwire.server._ipc import refusals
from envwire.server._ipc.refusals import SESSION_REQUESTS, fault_reply
from envwire.server._session.chunks import read_chunk, take_chunk
from envwire.server._session.counting import TIMES, EpisodeStatistics, with_time
from envwire.server._session.hosted_env import Answer, HostedEnv, WarningLog
from envwire.server._session.operations import OPERATIONS, encode_step, step_event, step_fault
from envwire.server._session.replay import Replaying
from envwire.server._session.states import TRANSITIONS, Event, State
from envwire.server._session.unreceived import MAX_AHEAD, Answered, UnreceivedAnswers
from envwire.v1 import environment_pb2
from envwire.wire.envelope import STEP_RESPONSE, answers_chunk
from envwire.wire.frames import Attachments, DeviceArrays, DeviceAttachments, Packet

if TYPE_CHECKING:
    from envwire.server._ipc.scoreboard import Row  # not on systems without its memory

#: Bound once: looking up an Enum member takes 900 instructions in Python 3.11.
_STEP = Event.STEP
_STEP_ANSWER = bytes([STEP_RESPONSE])


class Session:
    """One environment and the order of its requests.

    Args:
        env: The environment, with its wrappers.
        family: The classes of its library.
        warning_log: Collects its warnings.
        attribute_access: Which of its attributes and methods clients may reach.
        on_raised: Called with the fault of each exception of the environment, which its client gets as well.
        max_message_bytes: Longest reply, in bytes; no limit by default.

    Attributes:
        hosted: The environment with its classes, access rules and saved states.
        state: Its state in the table of `states`.
        warnings: Warnings of its environment.
        stepping: Nanoseconds spent in the environment's steps.
        steps: Number of its steps; a step of a vector environment counts once per member.
        counts: Its row of the scoreboard, which receives counts of episodes, repeats and replays; None outside of a
            session process.
        statistics: What steps mean for the count of episodes, which `count` brings up to date; None for none.
        attaches: Whether its answers may have attachments.
    """

    attaches = True

    def __init__(
        self,
        env: Any,
        family: Family,
        warning_log: WarningLog | None = None,
        attribute_access: AttributeAccess = EVERYTHING,
        on_raised: Callable[[FaultError], None] = lambda _: None,
        max_message_bytes: int = sys.maxsize,
    ) -> None:
        self._on_raised = on_raised
        # Leaves room for an error and warnings after the steps.
        self._max_chunk_bytes = max_message_bytes - max_message_bytes // 16
        self._max_message_bytes = max_message_bytes
        self.state = State.READY
        self.hosted = HostedEnv(env, family, attribute_access)
        self.warnings = warning_log or WarningLog()
        self.stepping: int = 0
        self.steps: int = 0
        self.counts: Row | None = None
        self.statistics: EpisodeStatistics | None = None
        self._steps_at_once: int = env.num_envs if is_vector(env) else 1
        self._sequence = 0
        self._request = b""
        self._reply = Packet(b"")
        self._unreceived = UnreceivedAnswers()
        self._replaying = Replaying(
            self._serve_recorded, self.hosted.beginning, on_begun=self._begin_members
        )
        self._member_resets = self.hosted.member_resets  # empty unless asked for at Make
        self._family = family
        #: Makes what large arrays of an answer are attached to, and one without arrays, for the next step.
        self._attached: Callable[[], Attachments] = Attachments
        self._empty: Attachments | None = Attachments()
        self._use_codec(step_codec(family, vector=is_vector(env)))

    def _use_codec(self, steps: StepCodec) -> None:
        self._decode_step, self._encode_step = steps.decode_request, steps.encode_response

    @property
    def uses_mailbox(self) -> bool:
        """Whether what serves its direct channel looks into a mailbox."""
        return True

    def use_arrays(self, arrays: DeviceArrays | None) -> None:
        """Has arrays of other libraries stay on a device from now on; None: has them sent in answers again."""
        self.hosted.family = family = replace(self._family, arrays=arrays)
        vector = is_vector(self.hosted.env)
        if arrays is None:
            self._reply = inline_arrays(self._reply)
            self._attached, self._empty = Attachments, Attachments()
            self._use_codec(step_codec(family, vector=vector))
        else:
            self._attached, self._empty = partial(DeviceAttachments, arrays), None
            self._use_codec(DeviceStepCodec(family, arrays, vector=vector))

    def copied(self) -> None:
        """Restarts the numbering of requests in a copy of a session, which has served no request."""
        self.stepping = self.steps = 0
        self._sequence = 0
        self._request, self._reply = b"", Packet(b"")
        self._unreceived.clear()
        self.use_arrays(None)  # those of the original stay with its client

    @property
    def capabilities(self) -> list[str]:
        """Names of the session's optional capabilities."""
        native = ["save_state"] if self.hosted.snapshots.native else []
        return ["ahead", "chunk", "replay", TIMES, *native]

    def handle(self, raw: bytes, attach: bool = False, attach_step: bool = True) -> Packet:
        """Serves one InteractRequest and returns the InteractResponse, which reports all errors.

        Only SystemExit and KeyboardInterrupt propagate.

        Args:
            raw: The request without a header, since its sender was identified before.
            attach: Whether large arrays may be attached to the response. They are the environment's own, not copies.
            attach_step: Whether those of a step are, then: not where the whole answer goes into a mailbox.
        """
        step = self._decode_step(raw)
        if step is None or step[0] != self._sequence + 1:
            return self._handle_any(raw, attach)
        attachments = (self._empty or self._attached()) if attach and attach_step else None
        reply = self._guarded(self._step, step[1], False, attachments)
        if attachments is not None and attachments.length and self._empty is not None:
            self._empty = Attachments()
        self._sequence += 1
        self._request, self._reply = raw, reply
        return reply

    def _handle_any(self, raw: bytes, attach: bool) -> Packet:
        """Serves a request that is no plain step, or not the next one."""
        try:
            request = environment_pb2.InteractRequest.FromString(raw)
        except DecodeError as error:
            return _fault(FaultError(Reason.MALFORMED_REQUEST, f"not an InteractRequest: {error}"))
        kind = request.WhichOneof("request")
        if kind is None or kind not in SESSION_REQUESTS:
            return _fault(refusals.not_for_a_session(kind))
        body = getattr(request, kind)
        if body.HasField("header"):
            return _fault(refusals.has_header(kind))
        return self._serve_numbered(raw, kind, body, attach)

    def _serve_numbered(self, raw: bytes, kind: str, body: Any, attach: bool) -> Packet:
        if body.sequence != self._sequence + 1:
            return self._answer_out_of_order(raw, body.sequence, attach)
        reply = self._serve_next(kind, body, attach)
        self._sequence += 1
        self._request, self._reply = raw, reply
        return reply

    def _serve_next(self, kind: str, body: Any, attach: bool) -> Packet:
        """Serves the request that is next, unless it is a step sent ahead that is not to be taken."""
        if kind == "step" and body.ahead:
            self._keep_unreceived(body.ahead)
            if not self._may_go_on():
                return refusals.NOT_TAKEN
        else:
            self._unreceived.clear()
        begun = time.monotonic_ns()
        reply = self._guarded(self._serve, kind, body, self._attached() if attach else None)
        if kind == "step" and body.report_time:
            reply = with_time(reply, begun)
        if kind == "close":  # the session is over even if closing raised
            self.state = TRANSITIONS[self.state, Event.CLOSE]
        return reply

    def count_episodes(self) -> None:
        """Counts episodes from now on. It adds 2 % to a step of CartPole, and up to 11 % to a vector step."""
        self.statistics = EpisodeStatistics(self.hosted.env)

    def count(self) -> None:
        """Updates the counts for the last request; called after its reply was sent."""
        if self.statistics is None:
            return
        heard = len(self.warnings.given)
        ended = self.statistics.flush()
        del self.warnings.given[heard:]  # from adding rewards; `catch_warnings` would take 8 us
        if ended and self.counts is not None:
            self.counts.add_episodes(ended)

    def _keep_unreceived(self, ahead: int) -> None:
        """Keeps the last reply beside the next one, for a client that has not received the last `ahead` ones."""
        last = Answered(self._request, self._reply)
        self._unreceived.keep(self._sequence, last, min(ahead, MAX_AHEAD))

    def _may_go_on(self) -> bool:
        """Returns whether a step that was sent ahead is taken: the last request was a step that went on."""
        message = self._reply.message
        return (
            message[:1] == _STEP_ANSWER
            and message != refusals.NOT_TAKEN.message
            and not answers_chunk(message)
            and self.state is not State.ENDED
            and self._reply.size <= self._max_message_bytes
            and not self._unreceived.full
        )

    def end(self) -> None:
        """Closes the environment if the client did not."""
        if self.state is not State.CLOSED:
            self.state = TRANSITIONS[self.state, Event.CLOSE]
            self.hosted.env.close()

    def _guarded(self, serve: Callable[..., Packet], *args: Any) -> Packet:
        try:
            return serve(*args)
        except Exception as error:
            fault = fault_from_exception(error, Reason.INTERNAL)
            fault.warnings = self.warnings.take()
            if fault.reason is Reason.ENVIRONMENT_RAISED:
                self._on_raised(fault)
            return _fault(fault)

    def _serve(self, kind: str, body: Any, attachments: Attachments | None) -> Packet:
        if kind == "step":
            return self._serve_step(body, attachments, self._max_chunk_bytes)
        answer = Answer(attachments)
        if kind == "replay":
            return self._replay(body, answer)
        event = OPERATIONS[kind](self.hosted, body, answer)
        if self.statistics is not None and kind == "reset":
            self.statistics.episodes.begin(self.hosted.reset_members(body))
        elif self.statistics is not None and event is not None:
            self.statistics.episodes.leave()
        return self._finish(event, answer)

    def _replay(self, body: environment_pb2.ReplayRequest, answer: Answer) -> Packet:
        """Replays a recording. Episodes that end in it are not counted, since the lost session counted them."""
        replay = answer.message.replay
        counts, self.counts = self.counts, None
        try:
            self._replaying.apply(body, replay)
        finally:
            self.counts = counts
        if counts is not None:
            counts.add_replay(replay.served - body.position, body.epoch, body.loss)
        return self._finish(None, answer)

    def _begin_members(self, members: Sequence[int]) -> None:
        if self.statistics is not None:
            self.statistics.episodes.begin(members)

    def _serve_recorded(self, kind: str, body: Any) -> bytes:
        """Serves a request of a recording, without a sequence number."""
        if kind != "step":
            return self._guarded(self._serve, kind, body, None).message
        answer = self._guarded(self._serve_step, body, None, None).message
        self.count()
        return answer

    def _serve_step(
        self,
        body: environment_pb2.StepRequest,
        attachments: Attachments | None,
        max_chunk_bytes: int | None,
    ) -> Packet:
        if body.actions:
            return self._chunk(body, max_chunk_bytes)
        action = self.hosted.read(body.action)
        self.hosted.restore_generator(body)
        return self._step(action, body.mirror_np_random, attachments)

    def _step(self, action: Any, mirror: bool, attachments: Attachments | None) -> Packet:
        result = self._take(action)
        special = mirror or self.warnings.given or self._member_resets
        if not special and type(result[4]) is dict:
            plain = result[2] is False and result[3] is False  # most steps
            event = _STEP if plain else step_event(self.hosted, result)
            try:
                written = self._encode_step(result, attachments)
            except CodecError as error:
                raise FaultError(Reason.UNSUPPORTED, str(error)) from error
            self.state = TRANSITIONS[self.state, event]
            return Packet(written, attachments)
        answer = Answer(attachments)
        event = encode_step(self.hosted, result, mirror, answer.message.step, attachments)
        return self._finish(event, answer)

    def _take(self, action: Any) -> tuple[Any, Any, Any, Any, Any]:
        begun = time.perf_counter_ns()
        try:
            observation, reward, terminated, truncated, info = self.hosted.env.step(action)
        except Exception as error:
            raise step_fault(self.hosted, action, error) from error
        finally:
            self.stepping += time.perf_counter_ns() - begun
            self.steps += self._steps_at_once
        taken = observation, reward, terminated, truncated, info
        if self.statistics is not None:
            self.statistics.add(taken)
        return taken

    def _chunk(self, body: environment_pb2.StepRequest, max_bytes: int | None) -> Packet:
        chunk, answer = read_chunk(self.hosted, body), Answer(attachments=None)
        take_step = partial(self._step_of_chunk, body.mirror_np_random)
        take_chunk(take_step, chunk, answer.message.step, max_bytes)
        return self._finish(None, answer)

    def _step_of_chunk(
        self, mirror: bool, action: Any, response: environment_pb2.StepResponse
    ) -> State:
        """Takes one step of a chunk; copies its arrays, since the environment may reuse them in the next step."""
        event = encode_step(self.hosted, self._take(action), mirror, response, None)
        self.count()
        self.state = TRANSITIONS[self.state, event]
        return self.state

    def _finish(self, event: Event | None, answer: Answer) -> Packet:
        message = answer.message
        if event is not None:
            self.state = TRANSITIONS[self.state, event]
        if self.warnings.given:
            self.warnings.move_to(getattr(message, message.WhichOneof("response") or ""))
        if answer.attachments is not None and answer.attachments.arrays is not None:
            answer.attachments.arrays.finish()
        return Packet(message.SerializeToString(), answer.attachments)

    def _answer_out_of_order(self, raw: bytes, sequence: int, attach: bool) -> Packet:
        kept = self._unreceived.find(sequence)
        if sequence == self._sequence and self._request:
            kept = Answered(self._request, self._reply)
        if kept is None:
            return _fault(refusals.sequence_gap(sequence, self._sequence + 1))
        if raw != kept.request:
            return _fault(refusals.sequence_reused(sequence))
        if self.counts is not None:
            self.counts.add_repeat()
        return kept.reply if attach else inline_arrays(kept.reply)


def _fault(fault: FaultError) -> Packet:
    return Packet(fault_reply(fault).SerializeToString())
