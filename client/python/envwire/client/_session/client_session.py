"""The client's side of one session, as a state machine without I/O: bytes to send, events from bytes received.

A driver asks for the next request, sends it, and reports the outcome: an answer, a broken connection or a timeout. The
table in `envwire.client._session.states` defines which transitions are allowed. No request is served twice.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from secrets import token_bytes
from typing import Any

from google.protobuf.message import DecodeError

from envwire.client._errors import ENDS, broken_answer, exception
from envwire.client._session.operations import (
    Close,
    Operation,
    Render,
    Step,
    StepAhead,
    numbered,
)
from envwire.client._session.recording import Recording
from envwire.client._session.resuming import RetrySchedule
from envwire.client._session.states import (
    ANSWERED,
    MAKING,
    PENDING,
    REQUESTED,
    Answered,
    Event,
    Move,
    Notice,
    Refused,
    SendAgain,
    State,
    moved,
    read_notices,
)
from envwire.client.errors import InvalidRequestError, ServerUnavailableError
from envwire.codec import Family, Reason, decode_fault
from envwire.codec.errors.faults import CodecError
from envwire.codec.fastpath.step_codec import step_codec
from envwire.codec.messages import LONGEST_SECONDS, to_seconds
from envwire.v1 import environment_pb2 as pb
from envwire.wire.envelope import RESPONSES, STEP_RESPONSE, session_header
from envwire.wire.frames import Area, Reply

#: Timeout of a Make, if the caller sets none: longer than a server allows by default.
MAKE_SECONDS = 180.0
#: How much longer than the server's step timeout to wait: the server's error says more than the client's timeout.
_SLACK_SECONDS = 10.0
#: Length of a Make's request id, which lets the server recognise a repeated Make.
_REQUEST_ID_BYTES = 16
#: What reading a broken answer raises; AttributeError if it answers another kind of request.
_BROKEN = DecodeError, ValueError, OverflowError, AttributeError
_NUMBERS = frozenset({Reason.SEQUENCE_GAP, Reason.SEQUENCE_REUSED})
#: How often one request is sent under another number. A server that follows the protocol refuses two at most: one that
#: another request used, and the one after it.
_MOST_RENUMBERINGS = 4


class ClientSession:
    """The client's side of one session.

    Args:
        family: Classes to build spaces and errors of.
        timeout: Seconds to wait for an answer; None for slightly longer than the server's step timeout.
        recording: Records the requests that change the environment; None to record nothing.
        label: Names it in the log, in errors, and as the source of the environment's warnings.
        vector: Whether its steps return batches.
        clock: Monotonic time, in seconds.

    Attributes:
        label: Names it.
        state: Its state.
        timeout: Seconds that a request may take.
        retries: The schedule for sending a request again after its connection broke.
        identity: Its id and secret, for a request that refers to it from another session.
        header: The session header of its requests; empty until the session is made.
        capabilities: Names of the optional features that the server supports for it.
        recorded_as: Name of the recording that the server keeps of it; empty if it keeps none.
        sequence: Number of the last numbered request, but for those behind it.
        behind: The requests that were sent behind the pending one, in order, each with its operation.
        notices: The last notices that the server sent.
        on_notices: Called with the notices when their kinds change.
    """

    def __init__(
        self,
        family: Family,
        timeout: float | None,
        recording: Recording | None = None,
        label: str = "",
        *,
        vector: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.label = label
        self.state = State.UNMADE
        self.timeout = min(timeout or MAKE_SECONDS, LONGEST_SECONDS)
        self.sequence: int = 0
        self.behind: deque[tuple[Operation[Any], bytes]] = deque()
        self.identity = pb.SessionHeader()
        self._own_timeout = timeout is not None
        self._family = family
        self._recording = recording
        self.retries = RetrySchedule(clock)
        self.header = b""
        self.capabilities: frozenset[str] = frozenset()
        self.recorded_as = ""
        self.notices: tuple[Notice, ...] = ()
        self.on_notices: Callable[[tuple[Notice, ...]], None] = lambda _: None
        steps = step_codec(family, vector=vector)
        self._encode_step, self._decode_step = steps.encode_request, steps.decode_response
        self._operation: Operation[Any] = Render()
        self._request = b""
        #: The request that was sent under another number last, and how often.
        self._renumberings: tuple[Operation[Any] | None, int] = None, 0
        #: A request that was taken back, although the server may have served it.
        self._rolled_back = b""

    @property
    def pending(self) -> bool:
        """Whether a numbered request is unanswered: it was sent, or has to be sent again."""
        return self.state in PENDING

    @property
    def in_doubt(self) -> bool:
        """Whether a request was sent and then given up; it has to be repeated before the next one."""
        return self.state is State.IN_DOUBT

    @property
    def closable(self) -> bool:
        """Whether a Close can be sent."""
        return self.state not in (State.UNMADE, *MAKING, State.ENDED)

    def make_request(self, request: pb.MakeRequest) -> bytes:
        """Returns the request that makes the session."""
        named = pb.InteractRequest(make=request)
        named.make.request_id = token_bytes(_REQUEST_ID_BYTES)
        self.state = moved(self.state, Move.MAKE)
        self._request = named.SerializeToString()
        self.retries.deadline = self.retries.clock() + self.timeout
        return self._request

    def next_request(self, operation: Operation[Any]) -> bytes:
        """Returns the next numbered request, for the driver to send.

        Args:
            operation: The request.

        Raises:
            InvalidRequestError: A value cannot be encoded; the session is unchanged.
            ProtocolError: Another request is pending.
        """
        state = REQUESTED.get(self.state) or moved(self.state, Move.REQUEST)
        number = self.sequence + 1
        try:
            if type(operation) is Step and not operation.mirror and operation.random_state is None:
                request = self._encode_step(number, operation.action)
            else:
                request = numbered(operation, number)
        except CodecError as error:
            raise InvalidRequestError(str(error)) from error
        self.state, self.sequence = state, number
        self._operation, self._request = operation, request
        self.retries.deadline = self.retries.clock() + self.timeout
        return request

    def request_behind(self, operation: Operation[Any], most_bytes: int) -> bytes | None:
        """Returns a request to send behind the pending one, before that is answered; None if it is too long.

        Args:
            operation: The request.
            most_bytes: How long it may be.

        Raises:
            InvalidRequestError: A value cannot be encoded; the session is unchanged.
        """
        try:
            request = numbered(operation, self.sequence + len(self.behind) + 1)
        except CodecError as error:
            raise InvalidRequestError(str(error)) from error
        if len(request) > most_bytes:
            return None
        self.behind.append((operation, request))
        return request

    def promote(self) -> None:
        """Makes the request behind the one that was answered the pending one."""
        self.state = moved(self.state, Move.REQUEST)
        self._operation, self._request = self.behind.popleft()
        self.sequence += 1
        self.retries.deadline = self.retries.clock() + self.timeout

    @property
    def unanswered(self) -> list[bytes]:
        """The pending request, and those behind it."""
        return [self._request, *(request for _, request in self.behind)]

    def receive(self, message: bytes, attachments: Area | None = None) -> Event:
        """Processes the answer to the pending request.

        Args:
            message: A serialised InteractResponse.
            attachments: Its attachments.

        Raises:
            RemoteError: The answer breaks the contract.
        """
        operation = self._operation
        try:
            if type(operation) is Step and message and message[0] == STEP_RESPONSE:
                self._answered(message, attachments)
                if not operation.mirror:
                    result = self._decode_step(message, attachments)
                    if result is not None:
                        return Answered((result, None))
                return self._read(message, attachments)
            return self._receive_any(message, attachments)
        except _BROKEN as error:
            raise broken_answer(self.label, error) from error

    def _receive_any(self, message: bytes, attachments: Area | None) -> Event:
        if RESPONSES.kind(message) == "error":
            return self._receive_error(message)
        if self.state is State.MAKING:
            return self._receive_make(self._parsed(message).make)
        self._answered(message, attachments)
        return self._read(message, attachments)

    def _read(self, message: bytes, attachments: Area | None) -> Event:
        operation = self._operation
        response = self._parsed(message)
        answer = getattr(response, response.WhichOneof("response") or operation.kind)
        if isinstance(operation, Close):
            self.state = moved(self.state, Move.END)
        result = operation.read(answer, attachments, self._family)
        return Answered(result, getattr(answer, "warnings", ()))

    def _parsed(self, message: bytes) -> pb.InteractResponse:
        """Parses an answer, and updates the notices."""
        response = pb.InteractResponse.FromString(message)
        if response.notices:
            before, self.notices = self.notices, read_notices(response.notices)
            if [notice.kind for notice in before] != [notice.kind for notice in self.notices]:
                self.on_notices(self.notices)
        return response

    def _answered(self, message: bytes, attachments: Area | None) -> None:
        """Notes that the pending request was answered under its number."""
        self.state = ANSWERED.get(self.state) or moved(self.state, Move.ANSWER)
        if self.retries.late:
            self.retries.answered()
        if self._recording is not None:
            self._recording.note(self._request, Reply(message, attachments))

    def _receive_make(self, made: pb.MakeResponse) -> Event:
        self.state = moved(self.state, Move.MADE)
        self.retries.late = False
        self.identity = pb.SessionHeader(session_id=made.session_id, secret=made.secret)
        self.header = session_header(made.session_id, made.secret)
        self.capabilities = frozenset(made.capabilities)
        self.recorded_as = made.recording
        self.retries.lease = to_seconds(made.lease)
        if not self._own_timeout:
            self.timeout = to_seconds(made.step_timeout) + _SLACK_SECONDS
        return Answered(made, made.warnings)

    def _receive_error(self, message: bytes) -> Event:
        fault = decode_fault(self._parsed(message).error, self._family)
        wrong = self.state is State.AWAITING and fault.reason in _NUMBERS
        if wrong and self._may_renumber():
            return self._renumbered(fault.metadata.get("expected"))
        if self.state is State.MAKING:
            self.state = moved(self.state, Move.END)
        else:
            self._answered(message, None)
            if fault.reason.value in ENDS:
                self.state = moved(self.state, Move.END)
        return Refused(exception(fault, self._family), fault.warnings)

    def _may_renumber(self) -> bool:
        """Counts a refused number; returns whether the pending request may be sent under another one.

        Not if others were sent ahead: they would be out of order.
        """
        if self.behind or (isinstance(self._operation, StepAhead) and self._operation.ahead):
            return False
        operation, count = self._renumberings
        count = count + 1 if operation is self._operation else 1
        self._renumberings = self._operation, count
        return count <= _MOST_RENUMBERINGS

    def _renumbered(self, expected: str | None) -> Event:
        """Renumbers the pending request: to the number that the server expects, or to the next one if that was used.

        This follows a request that could not be sent, or that was refused before it reached the session.
        """
        self.state = moved(self.state, Move.RENUMBER)
        if expected is not None:
            self.sequence = int(expected)
        else:
            self.sequence += 1
            if self._recording is not None and self._rolled_back:
                self._recording.add_unseen(self._rolled_back)
        self._rolled_back = b""
        self._request = numbered(self._operation, self.sequence)
        return SendAgain(self._request)

    def connection_lost(self, failure: ServerUnavailableError) -> float | None:
        """Processes a connection that broke before the answer arrived, or that could not be made.

        Args:
            failure: The error of the connection.

        Returns:
            Seconds to wait before `repeat` returns what to send on a new connection; None if the request is given up.
        """
        self.state = moved(self.state, Move.CUT)
        if isinstance(self._operation, Close):
            pause = None if self.retries.late else 0.0
            self.retries.note_cut()
        else:
            pause = self.retries.failed(failure)
        if pause is None or failure.silent:
            self.give_up()
            return None
        return pause

    def repeat(self) -> bytes:
        """Returns the pending request, for the driver to send on a new connection."""
        if self.in_doubt:
            self.retries.deadline = self.retries.clock() + self.timeout
        self.state = moved(self.state, Move.REPEAT)
        return self._request

    def give_up(self) -> None:
        """Notes that the driver no longer waits for the pending answer: the request is in doubt."""
        if self.state in MAKING:  # if the session was made, its lease ends it
            self.state = moved(self.state, Move.END)
            return
        self.state = moved(self.state, Move.GIVE_UP)
        self.retries.late = False

    def rollback_unsent(self) -> None:
        """Notes that the pending request could not be sent: the next one takes its number."""
        if self.state in MAKING:
            self.state = moved(self.state, Move.END)
            return
        self.state = moved(self.state, Move.TAKE_BACK)
        self._rolled_back = self._request
        self.behind.clear()
        self.retries.late = False
        self.sequence -= 1
