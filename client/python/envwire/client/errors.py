"""The exceptions of the client.

What an environment raises is raised again as the same class where there is one: builtins, and the errors of Gymnasium
(or of `envwire.envs`, for its face). Four reasons have an exception of the library's even when the server names no
class (`LIBRARY_CLASSES`). Everything else is one of these:

    RemoteError
    ├── RemoteEnvError              the environment raised an exception whose class is unknown here
    ├── InvalidRequestError         (ValueError) a value that cannot be sent, or that the server refused
    ├── NotAllowedError             (PermissionError) the operator of the server did not list it
    │   └── UnauthenticatedError    the server asks for a token, or does not know the one that it got
    ├── CapacityError               all sessions of the server, or all that one client may have, are taken
    ├── ServerUnavailableError      (ConnectionError) no server answers, or it is stopping
    │   └── TlsError                a server answers, and no secure connection to it comes about
    ├── RequestTimeoutError         (TimeoutError) no answer within the client's timeout
    └── SessionError
        ├── SessionClosedError      the environment was closed; reset() makes it again
        └── SessionLostError        its process died, hung or expired; reset() makes a new one
            ├── StepTimeoutError    (TimeoutError) it did not answer within the server's timeout
            └── ReplayError         it could not be brought back by replay
                └── ReplayMismatchError     the replayed environment went another way
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from envwire.codec import FAULTS, Family, FaultError, Reason, exception_from_fault


class RemoteError(Exception):
    """Something went wrong on the other side, or on the way to it.

    Attributes:
        reason: Name of the reason in docs/protocol.md, or "" when the server did not give one.
        metadata: Facts by name.
        output: The end of what the environment's process printed, when it was lost.
        retry_after: Seconds to wait before trying again, when the server said so.
    """

    reason: str = ""
    metadata: Mapping[str, str]
    output: str = ""
    retry_after: float | None = None

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.metadata = {}


class RemoteEnvError(RemoteError):
    """The environment raised an exception whose class is unknown here; the message names it."""


class InvalidRequestError(RemoteError, ValueError):
    """A value that cannot be sent, or that the server refused."""


class NotAllowedError(RemoteError, PermissionError):
    """The operator of the server did not list what was asked for."""


class UnauthenticatedError(NotAllowedError):
    """The server asks for a token, or does not know the one that it got."""


class CapacityError(RemoteError):
    """All sessions of the server are taken, or all that one client may have, or may make in this time."""


class ServerUnavailableError(RemoteError, ConnectionError):
    """No server answers, or it is stopping.

    Attributes:
        connected: Whether it was there until just now: a connection had come about, and broke.
        refused: Whether nobody listens there any more.
        silent: Whether the connection is there and the server itself answers nothing.
    """

    connected = False
    refused = False
    silent = False


class TlsError(ServerUnavailableError):
    """A server answers, and no secure connection to it comes about: one side lacks TLS, or mistrusts a certificate."""


class RequestTimeoutError(RemoteError, TimeoutError):
    """No answer came within the client's timeout."""


class SessionError(RemoteError):
    """The session cannot serve the request."""


class SessionClosedError(SessionError):
    """The environment was closed; `reset()` makes it again."""


class SessionLostError(SessionError):
    """The environment's process died, hung or expired; `reset()` makes a new one."""


class StepTimeoutError(SessionLostError, TimeoutError):
    """The environment did not answer within the server's timeout; its process was killed."""


class ReplayError(SessionLostError):
    """The session was lost, and could not be brought back by replay; `reset()` makes a new one."""


class ReplayMismatchError(ReplayError):
    """A replayed environment went another way than the lost one: it is not deterministic, or another version.

    Attributes:
        first: First request of those since the last seeded reset among which the first difference is.
        last: Last of these.
    """

    first = last = 0


class RemoteTracebackError(Exception):
    """Shows the traceback of the other side as the cause of an exception."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


#: Reasons that have an exception in the libraries themselves.
LIBRARY_CLASSES: dict[Reason, Callable[[Family], type[Exception]]] = {
    Reason.INVALID_ACTION: lambda family: family.error.InvalidAction,
    Reason.UNKNOWN_ENVIRONMENT: lambda family: family.error.NameNotFound,
    Reason.ATTRIBUTE_MISSING: lambda _: AttributeError,
    Reason.RESET_NEEDED: lambda family: family.error.ResetNeeded,
}

#: The class for each other reason of a server; `exception` builds it.
CLASSES: dict[Reason, type[RemoteError]] = {
    Reason.MALFORMED_REQUEST: InvalidRequestError,
    Reason.INVALID_VALUE: InvalidRequestError,
    Reason.UNKNOWN_SESSION: SessionLostError,
    Reason.KWARGS_NOT_ALLOWED: NotAllowedError,
    Reason.WRAPPER_NOT_ALLOWED: NotAllowedError,
    Reason.ATTRIBUTE_NOT_ALLOWED: NotAllowedError,
    Reason.WRONG_SECRET: NotAllowedError,
    Reason.UNAUTHENTICATED: UnauthenticatedError,
    Reason.SCOPE_MISSING: NotAllowedError,
    Reason.SESSION_CLOSED: SessionClosedError,
    Reason.SEQUENCE_GAP: SessionError,
    Reason.SEQUENCE_REUSED: SessionError,
    Reason.REQUEST_ID_REUSED: InvalidRequestError,
    Reason.CAPACITY_REACHED: CapacityError,
    Reason.CLIENT_LIMIT_REACHED: CapacityError,
    Reason.RATE_LIMITED: CapacityError,
    Reason.MESSAGE_TOO_LARGE: InvalidRequestError,
    Reason.DRAINING: ServerUnavailableError,
    Reason.SESSION_EXPIRED: SessionLostError,
    Reason.SESSION_LOST: SessionLostError,
    Reason.STEP_TIMEOUT: StepTimeoutError,
    Reason.ENVIRONMENT_RAISED: RemoteEnvError,
    Reason.UNSUPPORTED: InvalidRequestError,
    Reason.INTERNAL: RemoteError,
}

#: The class for each gRPC status code, for an error whose reason is missing or unknown: a proxy's, a newer server's.
#: The others are a plain RemoteError.
CLASSES_BY_CODE: dict[int, type[RemoteError]] = {
    2: RemoteEnvError,  # UNKNOWN: what code on the server raised
    3: InvalidRequestError,  # INVALID_ARGUMENT
    4: RequestTimeoutError,  # DEADLINE_EXCEEDED
    7: NotAllowedError,  # PERMISSION_DENIED
    8: CapacityError,  # RESOURCE_EXHAUSTED
    9: SessionError,  # FAILED_PRECONDITION
    10: SessionError,  # ABORTED
    11: InvalidRequestError,  # OUT_OF_RANGE
    12: InvalidRequestError,  # UNIMPLEMENTED
    14: ServerUnavailableError,  # UNAVAILABLE
    16: UnauthenticatedError,  # UNAUTHENTICATED
}


#: Reasons after which a session is no more.
ENDS = frozenset(
    reason.value
    for reason in (
        Reason.UNKNOWN_SESSION,
        Reason.SESSION_CLOSED,
        Reason.SESSION_EXPIRED,
        Reason.SESSION_LOST,
        Reason.STEP_TIMEOUT,
        Reason.DRAINING,
    )
)


def is_lost(error: Exception) -> bool:
    """Returns whether a session will not come back; one whose server is gone will not."""
    return isinstance(error, ServerUnavailableError) or (
        isinstance(error, RemoteError) and error.reason in ENDS
    )


def exception(fault: FaultError, family: Family) -> BaseException:
    """Returns the exception to raise for what a server answered, with the remote traceback as its cause.

    The class is that of the exception in the environment, if the server names one that exists here; else it follows
    from the reason, or from the status code when the reason is missing or unknown.
    """
    error = exception_from_fault(fault, family) or _by_reason(fault, family)
    if isinstance(error, (ImportError, family.error.DependencyNotInstalled)):
        error = type(error)(
            f"{error} (on the server, whose environment needs it; this program does not)"
        )
    if fault.traceback:
        error.__cause__ = RemoteTracebackError("\n".join(fault.traceback))
    return error


def note_making(error: BaseException, env_id: str) -> None:
    """Notes on an exception of an environment that it came while it was made: a bare KeyError would not say so."""
    add_note = getattr(error, "add_note", None)  # since Python 3.11
    if isinstance(error.__cause__, RemoteTracebackError) and add_note is not None:
        add_note(f"raised on the server, while {env_id} was made")


def _by_reason(fault: FaultError, family: Family) -> Exception:
    if fault.reason in LIBRARY_CLASSES:
        return LIBRARY_CLASSES[fault.reason](family)(_text(fault))
    return _remote_error(fault)


def _text(fault: FaultError) -> str:
    text = fault.message
    if fault.exception is not None:
        text = f"{fault.exception.type_name}: {fault.exception.text}"
    return f"{text}\nThe end of its output:\n{fault.output}" if fault.output else text


def _remote_error(fault: FaultError) -> RemoteError:
    if fault.reason is Reason.INTERNAL and fault.code != FAULTS[Reason.INTERNAL].code:
        return CLASSES_BY_CODE.get(fault.code, RemoteError)(_text(fault))
    error = CLASSES[fault.reason](_text(fault))
    error.reason = fault.reason.value
    error.metadata = dict(fault.metadata)
    error.output = fault.output
    error.retry_after = fault.retry_after
    return error


def not_live(owner: object, pid: int | None = None) -> SessionClosedError:
    """Returns the exception for environments that this process has no session for.

    Args:
        owner: The environments.
        pid: The process that has one; None when there is none any more.
    """
    if pid is None:
        return SessionClosedError(
            f"{owner} is closed, or its session was lost; reset() makes it again"
        )
    return SessionClosedError(
        f"{owner} was made in process {pid}, before a fork; reset() makes one for this process"
    )


def refused(target: str, advice: str = "") -> ServerUnavailableError:
    """Returns the exception for an address where connections are refused."""
    error = ServerUnavailableError(f"nothing listens at {target}{advice}")
    error.refused = True
    return error


def nothing_listens(target: str) -> ServerUnavailableError:
    """Returns the exception for a server that was never there."""
    return refused(
        target,
        "; is the server running (envwire serve ...), and is the port right? For a server that is about to start, "
        "connect_timeout= says how many seconds to wait",
    )


def server_gone(
    label: str, seconds: float, failure: ServerUnavailableError
) -> ServerUnavailableError:
    """Returns the exception for a session whose server has ended."""
    error = ServerUnavailableError(
        f"{label}: {failure} any more, tried for {seconds:.1f} s. The server was stopped or crashed, and the "
        "environment with it. Once it runs again (envwire serve ...), reset() makes the environment anew; "
        "on_lost='replay' goes on at another server of a list"
    )
    error.refused = True
    return error


def server_unreachable(
    label: str, seconds: float, lease: float, failure: ServerUnavailableError
) -> ServerUnavailableError:
    """Returns the exception for a session to whose server no connection comes about."""
    return ServerUnavailableError(
        f"{label}: {failure}. No connection came about for {seconds:.1f} s; the server keeps the environment for "
        f"{lease:g} s (lease=). Try again before that is over, or call reset() when the server can be reached"
    )


def nobody_answers(target: str, timeout: float) -> ServerUnavailableError:
    """Returns the exception for a server that is not there."""
    return ServerUnavailableError(
        f"no server answers at {target} within {timeout:g} s; is it running (envwire serve ...), and is the address "
        "right?"
    )


def timed_out(target: str, timeout: float) -> RequestTimeoutError:
    """Returns the exception for a reply that did not come in time."""
    return RequestTimeoutError(
        f"no answer from {target} within {timeout:g} s; the request may have been served all the same. Give "
        "RemoteEnv a longer timeout=, or look at what the environment does there"
    )


def too_large(target: str, details: str) -> InvalidRequestError:
    """Returns the exception for a message that is over the server's limit."""
    error = InvalidRequestError(
        f"a message to {target} was too large ({details}); the server's operator raises the limit with "
        "--max-message-bytes"
    )
    error.reason = Reason.MESSAGE_TOO_LARGE.value
    return error
