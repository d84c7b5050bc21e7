"""`CodecError`: what cannot be encoded or decoded, its path, and the remedy.

The path is assembled while the error propagates: each container adds its own step with `under`. Without an error, paths
cost nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

_LONGEST_STEP = 60


class CodecError(ValueError):
    """A value without a wire form, or a message that does not hold what it should.

    Args:
        found: What was there, for example "a generator".
        expected: What should have been there.
        remedy: What to do about it; a whole sentence or nothing.

    Attributes:
        path: Where, for example `action["goal"][3]`.
    """

    def __init__(self, found: str, expected: str, remedy: str = "") -> None:
        super().__init__(found, expected, remedy)
        self._steps: list[str] = []

    @property
    def path(self) -> str:
        """Where in the whole value the offending part is, from the outermost name inwards."""
        return "".join(reversed(self._steps))

    def under(self, step: str) -> CodecError:
        """Says that everything so far happened inside of `step`.

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
    """Writes the step into a dictionary: '["goal"]' for texts, the key's repr for others."""
    text = f'"{key}"' if isinstance(key, str) else repr(key)
    return f"[{text if len(text) <= _LONGEST_STEP else text[:_LONGEST_STEP] + '...'}]"


_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


def located(
    path: str,
    act: Callable[_Parameters, _Result],
    *args: _Parameters.args,
    **kwargs: _Parameters.kwargs,
) -> _Result:
    """Calls `act`, and says of its errors that they happened under `path`.

    Raises:
        CodecError: What `act` raised, one step further out.
    """
    try:
        return act(*args, **kwargs)
    except CodecError as error:
        error.under(path)
        raise
