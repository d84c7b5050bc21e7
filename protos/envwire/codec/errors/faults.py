"""Faults: why a request failed, with what its client needs to know about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from envwire.codec.errors.reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


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
