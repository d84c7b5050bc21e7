"""Steps that are sent ahead of answers: the actions of one environment in line, and the results of each call.

Blocking and asyncio environments share these coroutines (see `envwire.client._drivers.coroutines`).
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeAlias

from envwire.client._drivers.ahead import MAX_IN_FLIGHT, Sent
from envwire.client._drivers.coroutines import run
from envwire.client._recovery.session_handle import BaseSessionHandle
from envwire.client._session.operations import Step
from envwire.client._session.states import ProtocolError
from envwire.client._transports.portability import THIS_PROCESS
from envwire.client.errors import InvalidRequestError, RemoteError
from envwire.codec.steps import StepResult
from envwire.v1 import environment_pb2 as pb

if TYPE_CHECKING:
    from typing_extensions import Self


class ServerClock:
    """The clock of a server as this program sees it.

    A step began after its request was sent, and its answer came after it had ended. So each step bounds the difference
    of the two clocks on both sides; the truth is taken to be in the middle, as if both ways were equally long. A step
    that waited for others, or an answer that waited for the path, bounds it less and does no harm.
    """

    def __init__(self) -> None:
        #: Bounds of this program's clock minus the server's, in seconds.
        self._least, self._most = -math.inf, math.inf

    def made(self, sent: float, received: float, taken: pb.StepTime | None) -> float:
        """Returns when an observation was made, in seconds of this program's monotonic clock.

        Args:
            sent: When the request was sent.
            received: When the answer had come.
            taken: When the step was taken there; None if the server does not tell. Then the time is that of the answer.
        """
        if taken is None:
            return received
        begun, ended = taken.begun_nanoseconds / 1e9, taken.ended_nanoseconds / 1e9
        self._least = max(self._least, sent - begun)
        self._most = min(self._most, received - ended)
        return min(received, ended + (self._least + self._most) / 2)


Handle: TypeAlias = BaseSessionHandle[Any]


@dataclass(eq=False, slots=True)
class _Action:
    """An action in line: its value, the call that it belongs to, and its request once it is sent."""

    value: Any
    call: Call
    sent: Sent | None = None


class Call:
    """The results of one call of `step_ahead`.

    Args:
        line: The line that its actions stand in.
        left: How many of its results are to come.
    """

    def __init__(self, line: StepLine, left: int) -> None:
        self._line = line
        self._left = left
        self._results: deque[tuple[StepResult, float]] = deque()
        self._error: BaseException | None = None
        self._made = math.nan

    @property
    def unread(self) -> bool:
        """Whether a result or an error has come that the program has not seen."""
        return bool(self._results) or self._error is not None

    @property
    def age(self) -> float:
        """Seconds since the observation that `next` returned last was made; NaN before the first."""
        return monotonic() - self._made

    def add(self, result: StepResult, made: float) -> None:
        """Adds the next result, and when its observation was made."""
        self._results.append((result, made))
        self._left -= 1

    def end(self, error: BaseException | None = None) -> None:
        """Ends it after the results so far; the error of a step is raised in place of its result."""
        self._left, self._error = 0, error

    async def next(self) -> StepResult | None:
        """Returns the next result; None if there are no more.

        Raises:
            Exception: That of the step.
        """
        while not self._results:
            error, self._error = self._error, None
            if error is not None:
                raise error
            if not self._left:
                return None
            await self._line.advance()
        result, self._made = self._results.popleft()
        self._line.send()
        return result


class StepLine:
    """The actions that wait for their steps, in order, until the episode ends or a step fails.

    Args:
        handle: The environment.
        step: Takes a single step, for actions that cannot be sent ahead.
        apart: Whether all have to be stepped one by one.

    Attributes:
        over: Whether the episode has ended, or a step has failed: no further action is taken.
    """

    #: The call in which it ended.
    _last: Call | None = None

    def __init__(
        self, handle: Handle, step: Callable[[Any], Awaitable[StepResult]], *, apart: bool
    ) -> None:
        self._handle = handle
        self._step = step
        self._apart = apart
        self._waiting: deque[_Action] = deque()
        self._sent: deque[_Action] = deque()
        #: Actions whose steps were sent ahead and not taken: they are sent again when nothing is in flight.
        self._refused: deque[_Action] = deque()
        self._most = MAX_IN_FLIGHT
        self._clock = ServerClock()
        self.over = False

    @property
    def done(self) -> bool:
        """Whether it is over and the program has seen that: what it asks for from now on, it asks for knowingly."""
        return self.over and not (self._last is not None and self._last.unread)

    def add(self, actions: Iterable[Any]) -> Call:
        """Lines up the actions of a call, and sends as many as it may; none if it is over."""
        values = [] if self.over else list(actions)
        call = Call(self, len(values))
        self._waiting.extend(_Action(value, call) for value in values)
        self.send()
        return call

    def stop(self, error: BaseException | None = None, *, at: Call | None = None) -> None:
        """Ends all calls; one of them with an error, or with the end of the episode."""
        self.over = True
        self._last = at
        self._line_up_again()
        for action in self._waiting:
            action.call.end()
        self._waiting.clear()
        if at is not None:
            at.end(error)

    def send(self) -> None:
        """Sends waiting actions, as many as may be in flight."""
        driver = self._handle.driver
        if self._apart or self._refused or driver is None or driver.pid != THIS_PROCESS.pid:
            return
        while self._waiting and len(self._sent) < self._most and self._may_send(driver):
            action = self._waiting[0]
            try:
                action.sent = driver.step_ahead(action.value)
            except InvalidRequestError:  # it is raised when it is this action's turn
                return
            if action.sent is None:
                return
            self._sent.append(self._waiting.popleft())

    def _may_send(self, driver: Any) -> bool:
        in_step = driver.in_flight == len(self._sent) and not driver.session.notices
        return in_step and bool(driver.sends_ahead)

    async def advance(self) -> None:
        """Takes the next step, or receives its result."""
        self.send()
        if not self._sent:
            await self._alone(self._waiting.popleft())
            return
        action = self._sent[0]
        try:
            result, made = await self._received(action)
        except RemoteError as error:
            if not self._handle.is_loss(error):
                self.stop(error, at=action.call)
                return
            self._line_up_again()
            await self._alone(self._waiting.popleft(), error)
        except Exception as error:
            self.stop(error, at=action.call)
        else:
            self._settle(action, result, made)

    async def _received(self, action: _Action) -> tuple[StepResult | None, float]:
        """Returns the result of the first action in flight, None if it was not taken; and when it was made."""
        driver, sent = self._handle.live(), action.sent
        if sent is None:
            raise ProtocolError("a step that was not sent")
        while sent.event is None:
            await driver.receive_ahead()
        result, taken = driver.outcome_of(sent.event)
        return result, self._clock.made(sent.at, sent.received, taken)

    def _settle(self, action: _Action, result: StepResult | None, made: float) -> None:
        self._sent.popleft()
        if result is not None:
            self._deliver(action, result, made)
            return
        self._refused.append(action)  # the server keeps no more answers for now
        if not self._sent:
            self._line_up_again()
            self._most = max(1, self._most // 2)

    def _deliver(self, action: _Action, result: StepResult, made: float) -> None:
        if self._handle.strategy.observes:
            self._handle.strategy.observe(result[0])
        action.call.add(result, made)
        if any(map(bool, result[2:4])):
            self.stop(at=action.call)

    async def _alone(self, action: _Action, loss: RemoteError | None = None) -> None:
        """Takes one step by itself, perhaps in place of one whose session was lost."""
        try:
            result = await (self._step(action.value) if loss is None else self._again(action, loss))
        except Exception as error:
            self.stop(error, at=action.call)
        else:
            self._deliver(action, result, monotonic())

    async def _again(self, action: _Action, loss: RemoteError) -> StepResult:
        handle = self._handle
        try:
            result: StepResult = (await handle.serve_again(Step(action.value), loss))[0]
        except RemoteError as error:
            return handle.strategy.final_step(error)
        return result

    def _line_up_again(self) -> None:
        """Lines all actions up again that were sent and have no result."""
        for sent in (self._sent, self._refused):
            self._waiting.extendleft(reversed(sent))
            sent.clear()


class Results:
    """What `step_ahead` returns, in blocking programs and on event loops.

    Args:
        call: The call of `step_ahead`.
    """

    def __init__(self, call: Call) -> None:
        self._call = call

    @property
    def age(self) -> float:
        """Seconds since the observation that came last was made by the environment; NaN before the first.

        It is measured on this program's clock, and assumes that requests and answers take equally long. Where the
        server does not tell when a step was taken, it is the time since the answer came.
        """
        return self._call.age


class Steps(Results):
    """The results of steps, each as soon as it has come."""

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> StepResult:
        result = run(self._call.next())
        if result is None:
            raise StopIteration
        return result
