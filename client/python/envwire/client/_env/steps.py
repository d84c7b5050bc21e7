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

    @property
    def age(self) -> float:
        """Seconds since the observation that came last was made by the environment; NaN before the first.

        It is measured on this program's clock, and assumes that requests and answers take equally long. Where the
        server does not tell when a step was taken, it is the time since the answer came.
        """
        return self._call.age

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> StepResult:
        result = run(self._call.next())
        if result is None:
            raise StopIteration
        return result
