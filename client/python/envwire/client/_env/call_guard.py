"""Calls of an asyncio environment: one at a time, and an iterator over the results of steps sent ahead."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from envwire.client._env.step_line import Call, Results
from envwire.codec import Family
from envwire.codec.steps import StepResult

if TYPE_CHECKING:
    from typing_extensions import Self


class CallGuard:
    """Allows one call at a time. Each call runs inside `with guard`.

    Args:
        family: The library whose AlreadyPendingCallError is raised.
        label: Returns the name of the environment.
    """

    def __init__(self, family: Family, label: Callable[[], str]) -> None:
        self._family = family
        self._label = label
        #: The loop of the call that is running.
        self._loop: asyncio.AbstractEventLoop | None = None
        self._free: asyncio.Future[None] | None = None

    def __enter__(self) -> None:
        """Begins a call.

        Raises:
            AlreadyPendingCallError: Another call has not ended.
        """
        if self._busy:
            raise self._family.error.AlreadyPendingCallError(
                f"{self._label()} serves another call; await that one first, or make an environment for each task",
                "call",
            )
        self._loop = asyncio.get_running_loop()

    def __exit__(self, *_: object) -> None:
        self._loop = None
        free, self._free = self._free, None
        if free is not None and not free.done():
            free.set_result(None)

    @property
    def _busy(self) -> bool:
        """Whether a call is running; one whose loop was closed never ends, and counts as ended."""
        return self._loop is not None and not self._loop.is_closed()

    async def wait_free(self) -> None:
        """Waits until no call is running."""
        while self._busy:
            if self._free is None:
                self._free = asyncio.get_running_loop().create_future()
            await asyncio.wait({self._free})


class AsyncSteps(Results):
    """The results of steps of an asyncio environment, each as soon as it has come.

    Args:
        call: The call of `step_ahead`.
        guard: Allows the environment one call at a time; waiting for a result is one.
    """

    def __init__(self, call: Call, guard: CallGuard) -> None:
        super().__init__(call)
        self._guard = guard

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> StepResult:
        with self._guard:
            result = await self._call.next()
        if result is None:
            raise StopAsyncIteration
        return result
