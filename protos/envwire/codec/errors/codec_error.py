"""`CodecError`: says what cannot be encoded or decoded, where it is, and what to do.

The path is assembled while the error propagates: each container adds its own step with `under`. So paths cost nothing
unless there is an error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

_MAX_STEP = 60


class CodecError(ValueError):
    """A value that cannot be encoded, or a message with invalid content.

    Args:
        found: What was found, for example "a generator".
        expected: What was expected.
        remedy: What to do about it, as a whole sentence; may be empty.

    Attributes:
        path: Location in the whole value, for example `action["goal"][3]`.
    """

    def __init__(self, found: str, expected: str, remedy: str = "") -> None:
        super().__init__(found, expected, remedy)
        self._steps: list[str] = []

    @property
    def path(self) -> str:
        """Location of the offending part in the whole value, from the outermost name inwards."""
        return "".join(reversed(self._steps))

    def under(self, step: str) -> CodecError:
        """Prepends a step to the path.

        Args:
            step: The next step outwards: "[3]", '["goal"]', ".shape" or the name of the root.

        Returns:
            The error itself.
        """
        self._steps.append(step)
        return self

    def __str__(self) -> str:
        found, expected, remedy = self.args
        return f"{self.path or 'value'} is {found}; expected {expected}. {remedy}".rstrip()


def key_step(key: object) -> str:
    """Returns the step into a dictionary: '["goal"]' for a string key, the key's repr in brackets for others."""
    text = f'"{key}"' if isinstance(key, str) else repr(key)
    return f"[{text if len(text) <= _MAX_STEP else text[:_MAX_STEP] + '...'}]"


_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


def located(
    path: str,
    act: Callable[_Parameters, _Result],
    *args: _Parameters.args,
    **kwargs: _Parameters.kwargs,
) -> _Result:
    """Calls `act`, and prepends `path` to the path of its errors.

    Raises:
        CodecError: The error of `act`, with the longer path.
    """
    try:
        return act(*args, **kwargs)
    except CodecError as error:
        error.under(path)
        raise
