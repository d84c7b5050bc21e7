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

    @property
    def age(self) -> float:
        """Seconds since the observation that came last was made by the environment; NaN before the first.

        It is measured on this program's clock, and assumes that requests and answers take equally long. Where the
        server does not tell when a step was taken, it is the time since the answer came.
        """
        return self._call.age

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> StepResult:
        with self._guard:
            result = await self._call.next()
        if result is None:
            raise StopAsyncIteration
        return result
