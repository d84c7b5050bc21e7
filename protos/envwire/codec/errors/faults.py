"""`CodecError` and `FaultError`: what cannot be encoded or decoded, and why a request failed; what to do about either.

The path of a value in a `CodecError` is assembled while the error propagates: each container adds its own step with
`under`. So paths cost nothing unless there is an error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from envwire.codec.errors.reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


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


@dataclass(frozen=True)
class RemoteExceptionInfo:
    """An exception that the environment raised.

    Attributes:
        type_name: Qualified name of its class, for example "builtins.ValueError".
        text: Its `str`.
        args: Its arguments; None if one of them has no wire form.
    """

    type_name: str
    text: str
    args: tuple[Any, ...] | None


class FaultError(Exception):
    """The failure of a request.

    Args:
        reason: The reason, a row of the table.
        message: What is wrong, what was expected and what to do.
        metadata: Details by name, for example "session_id".
        output: The end of the output of the environment's process, if the process was lost.
        traceback: The remote traceback, innermost call last.
        retry_after: Seconds to wait before another attempt; None if a retry is useless.
        exception: The exception that the environment raised, if any.
        code: gRPC's status code; by default the reason's.

    Attributes:
        warnings: Category and text of each warning that the environment issued before it failed.
    """

    def __init__(
        self,
        reason: Reason,
        message: str,
        *,
        metadata: Mapping[str, str] | None = None,
        output: str = "",
        traceback: Sequence[str] = (),
        retry_after: float | None = None,
        exception: RemoteExceptionInfo | None = None,
        code: int | None = None,
    ) -> None:
        super().__init__(reason, message)  # copying and pickling call it with these
        self.reason = reason
        self.message = message
        self.metadata = dict(metadata or {})
        self.output = output
        self.traceback = tuple(traceback)
        self.retry_after = retry_after
        self.exception = exception
        self.code = reason.code if code is None else code
        self.warnings: Sequence[tuple[type[Warning], str]] = ()

    def __str__(self) -> str:
        return self.message
