"""Flows: procedures without I/O, written once for blocking and asyncio clients.

A flow is a generator that yields effects. It is resumed with each effect's result, or with the exception it raised.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from typing import Any, TypeVar

_E = TypeVar("_E")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait.

    Attributes:
        seconds: How long.
    """

    seconds: float


def run(flow: Generator[_E, Any, _T], perform: Callable[[_E], Any]) -> _T:
    """Runs a flow to its end and returns its result.

    Args:
        flow: The flow.
        perform: Performs an effect; returns its result, or raises.
    """

    async def performed(effect: _E) -> Any:
        return perform(effect)

    running = run_async(flow, performed)
    try:
        running.send(None)  # the coroutine never suspends, so it runs to its end
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    except RuntimeError as error:
        if isinstance(error.__cause__, StopIteration):  # no coroutine can raise it itself
            raise error.__cause__  # noqa: B904 - it keeps the remote traceback as its cause
        raise
    raise AssertionError("a flow of a blocking client waited for an event loop")


async def run_async(flow: Generator[_E, Any, _T], perform: Callable[[_E], Awaitable[Any]]) -> _T:
    """Runs a flow like `run`, with a coroutine that performs the effects."""
    try:
        effect = next(flow)
        while True:
            try:
                value = await perform(effect)
            except BaseException as error:  # noqa: PERF203 - the flow handles it
                effect = flow.throw(error)
            else:
                effect = flow.send(value)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
