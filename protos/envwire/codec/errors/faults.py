"""The table of error reasons: name and gRPC status. docs/protocol.md says what each means.

The server's errors and the client's exceptions derive from it; a test compares it with the table in docs/protocol.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from typing_extensions import Self


class _Code(IntEnum):
    """The gRPC status codes that are used here."""

    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    UNAUTHENTICATED = 16


class Reason(str, Enum):
    """Why a request failed: the `reason` of google.rpc.ErrorInfo.

    Attributes:
        code: Its gRPC status code.
    """

    code: int

    # The default is for type checkers, which take the look-up `Reason(name)` for this.
    def __new__(cls, name: str, code: int = _Code.UNKNOWN) -> Self:
        """Makes a member of its name, which is its value too, and its status code."""
        reason = str.__new__(cls, name)
        reason._value_ = name
        reason.code = code
        return reason

    MALFORMED_REQUEST = "MALFORMED_REQUEST", _Code.INVALID_ARGUMENT
    INVALID_VALUE = "INVALID_VALUE", _Code.INVALID_ARGUMENT
    INVALID_ACTION = "INVALID_ACTION", _Code.INVALID_ARGUMENT
    UNKNOWN_ENVIRONMENT = "UNKNOWN_ENVIRONMENT", _Code.NOT_FOUND
    UNKNOWN_SESSION = "UNKNOWN_SESSION", _Code.NOT_FOUND
    ATTRIBUTE_MISSING = "ATTRIBUTE_MISSING", _Code.NOT_FOUND
    KWARGS_NOT_ALLOWED = "KWARGS_NOT_ALLOWED", _Code.PERMISSION_DENIED
    WRAPPER_NOT_ALLOWED = "WRAPPER_NOT_ALLOWED", _Code.PERMISSION_DENIED
    ATTRIBUTE_NOT_ALLOWED = "ATTRIBUTE_NOT_ALLOWED", _Code.PERMISSION_DENIED
    WRONG_SECRET = "WRONG_SECRET", _Code.PERMISSION_DENIED
    UNAUTHENTICATED = "UNAUTHENTICATED", _Code.UNAUTHENTICATED
    SCOPE_MISSING = "SCOPE_MISSING", _Code.PERMISSION_DENIED
    SESSION_CLOSED = "SESSION_CLOSED", _Code.FAILED_PRECONDITION
    RESET_NEEDED = "RESET_NEEDED", _Code.FAILED_PRECONDITION
    SEQUENCE_GAP = "SEQUENCE_GAP", _Code.OUT_OF_RANGE
    SEQUENCE_REUSED = "SEQUENCE_REUSED", _Code.INVALID_ARGUMENT
    REQUEST_ID_REUSED = "REQUEST_ID_REUSED", _Code.INVALID_ARGUMENT
    CAPACITY_REACHED = "CAPACITY_REACHED", _Code.RESOURCE_EXHAUSTED
    CLIENT_LIMIT_REACHED = "CLIENT_LIMIT_REACHED", _Code.RESOURCE_EXHAUSTED
    RATE_LIMITED = "RATE_LIMITED", _Code.RESOURCE_EXHAUSTED
    MESSAGE_TOO_LARGE = "MESSAGE_TOO_LARGE", _Code.RESOURCE_EXHAUSTED
    DRAINING = "DRAINING", _Code.UNAVAILABLE
    SESSION_EXPIRED = "SESSION_EXPIRED", _Code.ABORTED
    SESSION_LOST = "SESSION_LOST", _Code.ABORTED
    STEP_TIMEOUT = "STEP_TIMEOUT", _Code.DEADLINE_EXCEEDED
    ENVIRONMENT_RAISED = "ENVIRONMENT_RAISED", _Code.UNKNOWN
    UNSUPPORTED = "UNSUPPORTED", _Code.UNIMPLEMENTED
    INTERNAL = "INTERNAL", _Code.INTERNAL


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
