"""The table of error reasons: name, gRPC status, meaning.

The server's errors and the client's exceptions derive from it; a test compares it with the table in docs/protocol.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


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
    """Why a request failed: the `reason` of google.rpc.ErrorInfo."""

    MALFORMED_REQUEST = "MALFORMED_REQUEST"
    INVALID_VALUE = "INVALID_VALUE"
    INVALID_ACTION = "INVALID_ACTION"
    UNKNOWN_ENVIRONMENT = "UNKNOWN_ENVIRONMENT"
    UNKNOWN_SESSION = "UNKNOWN_SESSION"
    ATTRIBUTE_MISSING = "ATTRIBUTE_MISSING"
    KWARGS_NOT_ALLOWED = "KWARGS_NOT_ALLOWED"
    WRAPPER_NOT_ALLOWED = "WRAPPER_NOT_ALLOWED"
    ATTRIBUTE_NOT_ALLOWED = "ATTRIBUTE_NOT_ALLOWED"
    WRONG_SECRET = "WRONG_SECRET"  # noqa: S105 - a reason, not a secret
    UNAUTHENTICATED = "UNAUTHENTICATED"
    SCOPE_MISSING = "SCOPE_MISSING"
    SESSION_CLOSED = "SESSION_CLOSED"
    RESET_NEEDED = "RESET_NEEDED"
    SEQUENCE_GAP = "SEQUENCE_GAP"
    SEQUENCE_REUSED = "SEQUENCE_REUSED"
    REQUEST_ID_REUSED = "REQUEST_ID_REUSED"
    CAPACITY_REACHED = "CAPACITY_REACHED"
    CLIENT_LIMIT_REACHED = "CLIENT_LIMIT_REACHED"
    RATE_LIMITED = "RATE_LIMITED"
    MESSAGE_TOO_LARGE = "MESSAGE_TOO_LARGE"
    DRAINING = "DRAINING"
    SESSION_EXPIRED = "SESSION_EXPIRED"
    SESSION_LOST = "SESSION_LOST"
    STEP_TIMEOUT = "STEP_TIMEOUT"
    ENVIRONMENT_RAISED = "ENVIRONMENT_RAISED"
    UNSUPPORTED = "UNSUPPORTED"
    INTERNAL = "INTERNAL"


class Fault(NamedTuple):
    """One row of the table.

    Attributes:
        code: gRPC's status code.
        summary: What it means.
    """

    code: int
    summary: str


FAULTS: Final[dict[Reason, Fault]] = {
    Reason.MALFORMED_REQUEST: Fault(
        _Code.INVALID_ARGUMENT, "The request lacks a part or cannot be read."
    ),
    Reason.INVALID_VALUE: Fault(
        _Code.INVALID_ARGUMENT, "A value in the request is broken or has no wire form."
    ),
    Reason.INVALID_ACTION: Fault(_Code.INVALID_ARGUMENT, "The action is not in the action space."),
    Reason.UNKNOWN_ENVIRONMENT: Fault(
        _Code.NOT_FOUND, "The server makes no environment of this id."
    ),
    Reason.UNKNOWN_SESSION: Fault(_Code.NOT_FOUND, "The server has no session of this id."),
    Reason.ATTRIBUTE_MISSING: Fault(
        _Code.NOT_FOUND, "Neither the environment nor a wrapper has the attribute."
    ),
    Reason.KWARGS_NOT_ALLOWED: Fault(
        _Code.PERMISSION_DENIED, "The operator did not list this keyword argument."
    ),
    Reason.WRAPPER_NOT_ALLOWED: Fault(
        _Code.PERMISSION_DENIED, "The operator did not list this wrapper."
    ),
    Reason.ATTRIBUTE_NOT_ALLOWED: Fault(
        _Code.PERMISSION_DENIED, "The attribute is not for clients."
    ),
    Reason.WRONG_SECRET: Fault(_Code.PERMISSION_DENIED, "The secret is not the session's."),
    Reason.UNAUTHENTICATED: Fault(
        _Code.UNAUTHENTICATED, "The client showed no token, or one that the server does not know."
    ),
    Reason.SCOPE_MISSING: Fault(
        _Code.PERMISSION_DENIED, "The client's token is not for this request."
    ),
    Reason.SESSION_CLOSED: Fault(
        _Code.FAILED_PRECONDITION, "The client closed the session before."
    ),
    Reason.RESET_NEEDED: Fault(_Code.FAILED_PRECONDITION, "The environment must be reset first."),
    Reason.SEQUENCE_GAP: Fault(_Code.OUT_OF_RANGE, "The sequence number is not the next one."),
    Reason.SEQUENCE_REUSED: Fault(
        _Code.INVALID_ARGUMENT, "The sequence number belongs to another request."
    ),
    Reason.REQUEST_ID_REUSED: Fault(
        _Code.INVALID_ARGUMENT, "The request id belongs to another Make."
    ),
    Reason.CAPACITY_REACHED: Fault(
        _Code.RESOURCE_EXHAUSTED, "The server holds as many sessions as it may."
    ),
    Reason.CLIENT_LIMIT_REACHED: Fault(
        _Code.RESOURCE_EXHAUSTED, "The client holds as many sessions as one client may."
    ),
    Reason.RATE_LIMITED: Fault(
        _Code.RESOURCE_EXHAUSTED, "The client asks for environments faster than one client may."
    ),
    Reason.MESSAGE_TOO_LARGE: Fault(
        _Code.RESOURCE_EXHAUSTED, "The message is larger than the limit."
    ),
    Reason.DRAINING: Fault(
        _Code.UNAVAILABLE, "The server finishes its sessions and takes no new ones."
    ),
    Reason.SESSION_EXPIRED: Fault(_Code.ABORTED, "The lease ran out, and the session was ended."),
    Reason.SESSION_LOST: Fault(_Code.ABORTED, "The session's process died."),
    Reason.STEP_TIMEOUT: Fault(
        _Code.DEADLINE_EXCEEDED, "The environment took too long, and the session was ended."
    ),
    Reason.ENVIRONMENT_RAISED: Fault(
        _Code.UNKNOWN, "The environment raised an exception; the session goes on."
    ),
    Reason.UNSUPPORTED: Fault(_Code.UNIMPLEMENTED, "The server or the environment cannot do this."),
    Reason.INTERNAL: Fault(_Code.INTERNAL, "The server itself is at fault."),
}
"""Every reason, its status code and its meaning."""


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
        code: gRPC's status code; by default the table's.

    Attributes:
        warnings: Category and text of each warning that was issued while the environment was made, if that failed.
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
        self.code = FAULTS[reason].code if code is None else code
        self.warnings: Sequence[tuple[type[Warning], str]] = ()

    def __str__(self) -> str:
        return self.message
