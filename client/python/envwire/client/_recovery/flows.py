"""Recovery without I/O: flows yield what to do next, drivers do it and send back the outcome.

A flow is a generator. What it yields is done by `run`, which blocks, or by `run_async`; an exception goes into the flow
where it waits. So the strategies are written once for both.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from envwire.client._session.operations import Operation

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class MakeAgain:
    """Make the environment again, in a session that takes the place of the lost one."""


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask the session something; the result comes back.

    Attributes:
        operation: What.
        recover: Whether a session that is lost meanwhile is recovered.
    """

    operation: Operation[Any]
    recover: bool = False


@dataclass(frozen=True, slots=True)
class LetGo:
    """Let go of the session.

    Attributes:
        close: Whether it may be there still, to be closed.
    """

    close: bool = False


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait.

    Attributes:
        seconds: How long.
    """

    seconds: float


Effect: TypeAlias = MakeAgain | Ask | LetGo | Pause
Flow: TypeAlias = Generator[Effect, Any, T]


def run(flow: Flow[T], perform: Callable[[Effect], Any]) -> T:
    """Runs a flow to its end and returns its result.

    Args:
        flow: The flow.
        perform: Does what it yields, and returns or raises what came of it.
    """
    try:
        effect = next(flow)
        while True:
            try:
                value = perform(effect)
            except Exception as error:  # noqa: PERF203 - it is the flow's to handle
                effect = flow.throw(error)
            else:
                effect = flow.send(value)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


async def run_async(flow: Flow[T], perform: Callable[[Effect], Awaitable[Any]]) -> T:
    """Does as `run`, with a coroutine that does what the flow yields."""
    try:
        effect = next(flow)
        while True:
            try:
                value = await perform(effect)
            except Exception as error:  # noqa: PERF203 - it is the flow's to handle
                effect = flow.throw(error)
            else:
                effect = flow.send(value)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
