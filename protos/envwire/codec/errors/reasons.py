"""The table of error reasons, from which `make protos` writes those of docs/protocol.md, TypeScript and C++.

This file imports nothing of envwire, so that the program that writes the others runs without its packages.
"""

from __future__ import annotations

from enum import Enum, Flag, IntEnum, auto
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Self


class Code(IntEnum):
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


class Then(Flag):
    """What else an error with a reason means."""

    NOTHING = 0
    ENDS_SESSION = auto()
    """The session is over: its client has to make another one."""
    TRY_ELSEWHERE = auto()
    """Another server may make the environment."""


class Reason(str, Enum):
    """Why a request failed: the `reason` of google.rpc.ErrorInfo.

    Attributes:
        code: Its gRPC status code.
        meaning: What happened, for docs/protocol.md.
        then: What follows.
    """

    code: int
    meaning: str
    then: Then

    # The defaults are for type checkers, which take the look-up `Reason(name)` for this.
    def __new__(
        cls, name: str, code: int = Code.UNKNOWN, meaning: str = "", then: Then = Then.NOTHING
    ) -> Self:
        """Makes a member of its name, which is its value too, and the rest of its row."""
        reason = str.__new__(cls, name)
        reason._value_ = name
        reason.code, reason.meaning, reason.then = code, meaning, then
        return reason

    @property
    def ends_session(self) -> bool:
        """Whether the session is over."""
        return Then.ENDS_SESSION in self.then

    @property
    def try_elsewhere(self) -> bool:
        """Whether another server may make the environment."""
        return Then.TRY_ELSEWHERE in self.then

    MALFORMED_REQUEST = (
        "MALFORMED_REQUEST",
        Code.INVALID_ARGUMENT,
        "The request lacks a part or cannot be read.",
    )
    INVALID_VALUE = (
        "INVALID_VALUE",
        Code.INVALID_ARGUMENT,
        "A value in the request is broken or has no wire form.",
    )
    INVALID_ACTION = (
        "INVALID_ACTION",
        Code.INVALID_ARGUMENT,
        "The action is not in the action space.",
    )
    UNKNOWN_ENVIRONMENT = (
        "UNKNOWN_ENVIRONMENT",
        Code.NOT_FOUND,
        "The server makes no environment of this id.",
    )
    UNKNOWN_SESSION = (
        "UNKNOWN_SESSION",
        Code.NOT_FOUND,
        "The server has no session of this id.",
        Then.ENDS_SESSION,
    )
    ATTRIBUTE_MISSING = (
        "ATTRIBUTE_MISSING",
        Code.NOT_FOUND,
        "Neither the environment nor a wrapper has the attribute.",
    )
    KWARGS_NOT_ALLOWED = (
        "KWARGS_NOT_ALLOWED",
        Code.PERMISSION_DENIED,
        "The operator did not list this keyword argument.",
    )
    WRAPPER_NOT_ALLOWED = (
        "WRAPPER_NOT_ALLOWED",
        Code.PERMISSION_DENIED,
        "The operator did not list this wrapper.",
    )
    ATTRIBUTE_NOT_ALLOWED = (
        "ATTRIBUTE_NOT_ALLOWED",
        Code.PERMISSION_DENIED,
        "The attribute is not for clients.",
    )
    WRONG_SECRET = "WRONG_SECRET", Code.PERMISSION_DENIED, "The secret is not the session's."
    UNAUTHENTICATED = (
        "UNAUTHENTICATED",
        Code.UNAUTHENTICATED,
        "The client showed no token, or one that the server does not know.",
    )
    SCOPE_MISSING = (
        "SCOPE_MISSING",
        Code.PERMISSION_DENIED,
        "The client's token is not for this request.",
    )
    SESSION_CLOSED = (
        "SESSION_CLOSED",
        Code.FAILED_PRECONDITION,
        "The client closed the session before.",
        Then.ENDS_SESSION,
    )
    RESET_NEEDED = "RESET_NEEDED", Code.FAILED_PRECONDITION, "The environment must be reset first."
    SEQUENCE_GAP = "SEQUENCE_GAP", Code.OUT_OF_RANGE, "The sequence number is not the next one."
    SEQUENCE_REUSED = (
        "SEQUENCE_REUSED",
        Code.INVALID_ARGUMENT,
        "The sequence number belongs to another request.",
    )
    REQUEST_ID_REUSED = (
        "REQUEST_ID_REUSED",
        Code.INVALID_ARGUMENT,
        "The request id belongs to another Make.",
    )
    CAPACITY_REACHED = (
        "CAPACITY_REACHED",
        Code.RESOURCE_EXHAUSTED,
        "The server holds as many sessions as it may.",
        Then.TRY_ELSEWHERE,
    )
    CLIENT_LIMIT_REACHED = (
        "CLIENT_LIMIT_REACHED",
        Code.RESOURCE_EXHAUSTED,
        "The client holds as many sessions as one client may.",
    )
    RATE_LIMITED = (
        "RATE_LIMITED",
        Code.RESOURCE_EXHAUSTED,
        "The client asks for environments faster than one client may.",
    )
    MESSAGE_TOO_LARGE = (
        "MESSAGE_TOO_LARGE",
        Code.RESOURCE_EXHAUSTED,
        "The message is larger than the limit.",
    )
    DRAINING = (
        "DRAINING",
        Code.UNAVAILABLE,
        "The server finishes its sessions and takes no new ones.",
        Then.ENDS_SESSION | Then.TRY_ELSEWHERE,
    )
    SESSION_EXPIRED = (
        "SESSION_EXPIRED",
        Code.ABORTED,
        "The lease ran out, and the session was ended.",
        Then.ENDS_SESSION,
    )
    SESSION_LOST = "SESSION_LOST", Code.ABORTED, "The session's process died.", Then.ENDS_SESSION
    STEP_TIMEOUT = (
        "STEP_TIMEOUT",
        Code.DEADLINE_EXCEEDED,
        "The environment took too long, and the session was ended.",
        Then.ENDS_SESSION,
    )
    ENVIRONMENT_RAISED = (
        "ENVIRONMENT_RAISED",
        Code.UNKNOWN,
        "The environment raised an exception; the session goes on.",
    )
    UNSUPPORTED = "UNSUPPORTED", Code.UNIMPLEMENTED, "The server or the environment cannot do this."
    INTERNAL = "INTERNAL", Code.INTERNAL, "The server itself is at fault."
