"""The client's side of one session, as a state machine without I/O: bytes to send, events from bytes received.

A driver asks for the next request, sends it, and hands over what came of it: an answer, a broken connection, a
timeout. The table of `envwire.client._session.states` rules what may follow what; an answer is never taken for another
request's, and a request that was sent is never served twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from secrets import token_bytes
from typing import Any

from google.protobuf.duration_pb2 import Duration

from envwire.client._errors.faults import exception
from envwire.client._errors.losses import ENDS
from envwire.client._session.events import Answered, Event, GivenUp, Refused, RetryAfter, SendAgain
from envwire.client._session.identity import SessionIdentity
from envwire.client._session.notices import Notice, read_notices
from envwire.client._session.operations import Close, Operation, Render, Step
from envwire.client._session.recording.recording import Recording
from envwire.client._session.resuming import RetrySchedule
from envwire.client._session.states import (
    ANSWERED,
    MAKING,
    PENDING,
    REQUESTED,
    Move,
    State,
    moved,
)
from envwire.client.errors import InvalidRequestError, ServerUnavailableError
from envwire.codec import Family, Reason, decode_fault
from envwire.codec.errors.codec_error import CodecError
from envwire.codec.steps.choice import step_codec
from envwire.v1 import environment_pb2 as pb
from envwire.wire.envelope import RESPONSES, STEP_RESPONSE
from envwire.wire.frames import Area, Reply

#: Seconds to wait for an environment to be made, when the caller sets no timeout: more than a server allows by default.
MAKE_SECONDS = 180.0
#: Seconds to wait beyond the server's own limit, whose error says more than a timeout here.
_SLACK_SECONDS = 10.0
#: A Make has an id, under which it is repeated when its answer was lost.
_REQUEST_ID_BYTES = 16
_NUMBERS = frozenset({Reason.SEQUENCE_GAP, Reason.SEQUENCE_REUSED})


class ClientSession:
    """A session.

    Args:
        family: Classes to build spaces and errors of.
        timeout: Seconds to wait for an answer; None for a little more than the server allows itself.
        recording: Takes what changes the environment; None to record nothing.
        vector: Whether its steps return batches.
        clock: Monotonic time, in seconds.

    Attributes:
        state: Where it stands.
        timeout: Seconds that a request may take.
        identity: Its name, and its secret.
        header: Says whose the requests are; empty until the session is made.
        capabilities: What the server can do with it besides, by name.
        recorded_as: Name of the recording that the server keeps of it; empty when it keeps none.
        sequence: Number of the last numbered request.
        notices: What the server told beside an answer, the last time that it did.
        on_notices: Called when that is news.
    """

    def __init__(
        self,
        family: Family,
        timeout: float | None,
        recording: Recording | None = None,
        *,
        vector: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.state = State.UNMADE
        self.timeout = timeout or MAKE_SECONDS
        self.sequence: int = 0
        self.identity = SessionIdentity("", b"")
        self._own_timeout = timeout is not None
        self._family = family
        self._recording = recording
        self._clock = clock
        self._retries = RetrySchedule()
        self.header = b""
        self.capabilities: frozenset[str] = frozenset()
        self.recorded_as = ""
        self.notices: tuple[Notice, ...] = ()
        self.on_notices: Callable[[tuple[Notice, ...]], None] = lambda _: None
        steps = step_codec(family, vector=vector)
        self._encode_step, self._decode_step = steps.encode_request, steps.decode_response
        self._operation: Operation[Any] = Render()
        self._request = b""
        #: A request that was taken back, in case that it was served all the same.
        self._taken_back = b""

    @property
    def lease(self) -> float:
        """Seconds that the session outlives its connection, or its client's last request."""
        return self._retries.lease

    @property
    def resumed(self) -> int:
        """How often it went on after its connection broke."""
        return self._retries.resumed

    @property
    def has_others(self) -> bool:
        """Whether there are other servers (see `expect_others`)."""
        return self._retries.refused_span is not None

    @property
    def pending(self) -> bool:
        """Whether a numbered request is on its way, or to be repeated."""
        return self.state in PENDING

    @property
    def in_doubt(self) -> bool:
        """Whether a request was sent whose answer nobody waits for; it is to be repeated before the next one."""
        return self.state is State.IN_DOUBT

    @property
    def closable(self) -> bool:
        """Whether a Close can be asked for."""
        return self.state not in (State.UNMADE, *MAKING, State.ENDED)

    def expect_others(self, seconds: float) -> None:
        """Says that there are other servers: where nobody listens any more, it is tried for this long only."""
        self._retries.refused_span = seconds

    def make_request(self, request: pb.MakeRequest) -> bytes:
        """Returns the request that makes the session."""
        named = pb.InteractRequest(make=request)
        named.make.request_id = token_bytes(_REQUEST_ID_BYTES)
        self.state = moved(self.state, Move.MAKE)
        self._request = named.SerializeToString()
        self._retries.deadline = self._clock() + self.timeout
        return self._request

    def next_request(self, operation: Operation[Any]) -> bytes:
        """Numbers a request and returns it, to be sent.

        Args:
            operation: What is asked.

        Raises:
            InvalidRequestError: A value has no wire form; nothing is to be sent.
            ProtocolError: Another request is pending.
        """
        state = REQUESTED.get(self.state) or moved(self.state, Move.REQUEST)
        number = self.sequence + 1
        if type(operation) is Step and not operation.mirror and operation.random_state is None:
            try:
                request = self._encode_step(number, operation.action)
            except CodecError as error:
                raise InvalidRequestError(str(error)) from error
        else:
            request = self._written(operation, number)
        self.state, self.sequence = state, number
        self._operation, self._request = operation, request
        self._retries.deadline = self._clock() + self.timeout
        return request

    def _written(self, operation: Operation[Any], number: int) -> bytes:
        request = pb.InteractRequest()
        body = getattr(request, operation.kind)
        body.SetInParent()
        operation.write(body)
        body.sequence = number
        return request.SerializeToString()

    def next_deadline(self) -> float:
        """Returns when the time of the pending request is up, on the session's clock."""
        return self._retries.deadline

    def receive(self, message: bytes, attachments: Area | None = None) -> Event:
        """Takes the answer to the request that is pending.

        Args:
            message: An InteractResponse.
            attachments: What came beside it.

        Raises:
            CodecError: The answer breaks the contract.
        """
        operation = self._operation
        if type(operation) is Step and message and message[0] == STEP_RESPONSE:
            self._answered(message, attachments)
            if not operation.mirror:
                result = self._decode_step(message, attachments)
                if result is not None:
                    return Answered((result, None))
        elif RESPONSES.kind(message) == "error":
            return self._receive_error(message)
        elif self.state is State.MAKING:
            return self._receive_make(self._parsed(message).make)
        else:
            self._answered(message, attachments)
        response = self._parsed(message)
        answer = getattr(response, response.WhichOneof("response") or operation.kind)
        if isinstance(operation, Close):
            self.state = moved(self.state, Move.END)
        given: Sequence[Any] = getattr(answer, "warnings", ())
        return Answered(operation.read(answer, attachments, self._family), given)

    def _parsed(self, message: bytes) -> pb.InteractResponse:
        """Reads an answer, and takes what the server tells beside it."""
        response = pb.InteractResponse.FromString(message)
        if response.notices:
            before, self.notices = self.notices, read_notices(response.notices)
            if [notice.kind for notice in before] != [notice.kind for notice in self.notices]:
                self.on_notices(self.notices)
        return response

    def _answered(self, message: bytes, attachments: Area | None) -> None:
        """Notes that the pending request used its number."""
        self.state = ANSWERED.get(self.state) or moved(self.state, Move.ANSWER)
        if self._retries.late:
            self._retries.answered()
        if self._recording is not None:
            self._recording.note(self._request, Reply(message, attachments))

    def _receive_make(self, made: pb.MakeResponse) -> Event:
        self.state = moved(self.state, Move.MADE)
        self._retries.forget_cut()
        self.identity = SessionIdentity(made.session_id, made.secret)
        self.header = self.identity.header()
        self.capabilities = frozenset(made.capabilities)
        self.recorded_as = made.recording
        self._retries.lease = _seconds(made.lease)
        if not self._own_timeout:
            self.timeout = _seconds(made.step_timeout) + _SLACK_SECONDS
        return Answered(made, made.warnings)

    def _receive_error(self, message: bytes) -> Event:
        fault = decode_fault(self._parsed(message).error, self._family)
        if self.state is State.AWAITING and fault.reason in _NUMBERS:
            return self._renumbered(fault.metadata.get("expected"))
        if self.state is State.MAKING:
            self.state = moved(self.state, Move.END)
        else:
            self._answered(message, None)
            if fault.reason.value in ENDS:
                self.state = moved(self.state, Move.END)
        return Refused(exception(fault, self._family))

    def _renumbered(self, expected: str | None) -> Event:
        """Takes the number that the server asks for; one that is used is followed by the next one.

        This happens after a request that could not be sent, or that was refused before it reached the session.
        """
        self.state = moved(self.state, Move.RENUMBER)
        if expected is not None:
            self.sequence = int(expected)
        else:
            self.sequence += 1
            if self._recording is not None and self._taken_back:
                self._recording.add_unseen(self._taken_back)
        self._taken_back = b""
        self._request = self._written(self._operation, self.sequence)
        return SendAgain(self._request)

    def connection_lost(self, failure: ServerUnavailableError) -> Event:
        """Takes a connection that broke before the answer came, or did not come about.

        Args:
            failure: How.
        """
        self.state = moved(self.state, Move.CUT)
        if isinstance(self._operation, Close):
            pause = None if self._retries.late else 0.0
            self._retries.note_cut(self._clock())
        else:
            pause = self._retries.failed(
                self._clock(), refused=failure.refused, connected=failure.connected
            )
        if pause is None or failure.silent:
            self.give_up()
            return GivenUp()
        return RetryAfter(pause, self._retries.left)

    def repeat(self) -> bytes:
        """Returns the pending request, to be sent on a new connection."""
        if self.in_doubt:
            self._retries.deadline = self._clock() + self.timeout
        self.state = moved(self.state, Move.REPEAT)
        return self._request

    def time_left(self) -> float:
        """Returns the seconds that the request which is repeated has."""
        return self._retries.time_left(self._clock())

    @property
    def outage(self) -> float:
        """Seconds since the connection of the pending request broke."""
        return max(0.0, self._clock() - self._retries.cut_at)

    def timed_out(self) -> Event:
        """Takes that the time of the pending request is up."""
        self.give_up()
        return GivenUp()

    def give_up(self) -> None:
        """Notes that nobody waits for the pending answer any more: its number is in doubt from here on."""
        if self.state in MAKING:  # whether it was made is unknown: its lease ends it
            self.state = moved(self.state, Move.END)
            return
        self.state = moved(self.state, Move.GIVE_UP)
        self._retries.forget_cut()

    def take_back(self) -> None:
        """Notes that the pending request cannot be sent: the next one gets its number."""
        if self.state in MAKING:
            self.state = moved(self.state, Move.END)
            return
        self.state = moved(self.state, Move.TAKE_BACK)
        self._taken_back = self._request
        self._retries.forget_cut()
        self.sequence -= 1

    def end(self) -> None:
        """Notes that the session is no more."""
        if self.state is not State.ENDED:
            self.state = moved(self.state, Move.END)

    def renewal(self) -> bytes:
        """Returns the request that renews the lease; it has no number."""
        return pb.InteractRequest(renew_lease=pb.RenewLeaseRequest()).SerializeToString()

    def stats_request(self) -> bytes:
        """Returns the request for how the session's time was spent; it has no number."""
        request = pb.InteractRequest(get_session_stats=pb.GetSessionStatsRequest())
        return request.SerializeToString()


def _seconds(duration: Duration) -> float:
    return duration.seconds + duration.nanos / 1e9
