"""What `step_ahead` of an asyncio environment returns: an asynchronous iterator over the results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envwire.client._drivers.call_guard import CallGuard
from envwire.client._env.step_line import Call
from envwire.codec.steps import StepResult

if TYPE_CHECKING:
    from typing_extensions import Self


class AsyncSteps:
    """The results of steps of an asyncio environment, each as soon as it has come.

    Args:
        call: The call of `step_ahead`.
        guard: Allows the environment one call at a time; waiting for a result is one.
    """

    def __init__(self, call: Call, guard: CallGuard) -> None:
        self._call = call
        self._guard = guard

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> StepResult:
        with self._guard:
            result = await self._call.next()
        if result is None:
            raise StopAsyncIteration
        return result
