"""What `step_ahead` of a blocking environment returns: an iterator over the results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envwire.client._drivers.coroutines import run
from envwire.client._env.step_line import Call
from envwire.codec.steps import StepResult

if TYPE_CHECKING:
    from typing_extensions import Self


class Steps:
    """The results of steps, each as soon as it has come.

    Args:
        call: The call of `step_ahead`.
    """

    def __init__(self, call: Call) -> None:
        self._call = call

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> StepResult:
        result = run(self._call.next())
        if result is None:
            raise StopIteration
        return result
