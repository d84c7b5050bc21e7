"""The exceptions of the client.

An exception that an environment raises is raised again as the same class where this program has it: builtins, and the
errors of Gymnasium or `envwire.envs`. Some reasons map to an exception of these libraries even if the server names no
class (`envwire.client._errors.LIBRARY_CLASSES`). Every other error is one of these:

    RemoteError
    ├── RemoteEnvError              the environment raised an exception that is not of Python, NumPy or the library
    ├── InvalidRequestError         (ValueError) a value that cannot be sent, or that the server refused
    ├── NotAllowedError             (PermissionError) the operator of the server does not allow it
    │   └── UnauthenticatedError    the server requires a token, or rejected the one that was sent
    ├── CapacityError               the server, or this client's share of it, is full
    ├── ServerUnavailableError      (ConnectionError) no server answers, or it is stopping
    │   └── TlsError                a server answers, but no secure connection can be made
    ├── RequestTimeoutError         (TimeoutError) no answer within the client's timeout
    └── SessionError
        ├── SessionClosedError      the environment was closed; reset() makes it again
        └── SessionLostError        its process died, hung or expired; reset() makes a new one
            ├── StepTimeoutError    (TimeoutError) it did not answer within the server's timeout
            └── ReplayError         the session could not be restored by replay
                └── ReplayMismatchError     the replayed environment gave other answers
"""

from __future__ import annotations

from collections.abc import Mapping


class RemoteError(Exception):
    """Base class of the errors of a server, of the connection to it, and of environments.

    Attributes:
        reason: Name of the reason in docs/protocol.md; "" if the server gave none.
        metadata: Details by name, as the server sent them.
        output: The last lines that the environment's process printed, if it was lost.
        retry_after: Seconds to wait before trying again, if the server gave them.
        advice: The end of the message, if it says what only a program can do; `envwire` leaves it out.
    """

    reason: str = ""
    metadata: Mapping[str, str]
    output: str = ""
    retry_after: float | None = None
    advice: str = ""

    def __init__(self, message: str, advice: str = "") -> None:
        super().__init__(message + advice)
        self.advice = advice
        self.metadata = {}


class RemoteEnvError(RemoteError):
    """The environment raised an exception that is not of Python, NumPy or the library; the message names its class."""


class InvalidRequestError(RemoteError, ValueError):
    """A value that cannot be sent, or that the server refused."""


class NotAllowedError(RemoteError, PermissionError):
    """The operator of the server does not allow what was requested."""


class UnauthenticatedError(NotAllowedError):
    """The server requires a token, or rejected the one that was sent."""


class CapacityError(RemoteError):
    """The server is full, or this client has reached its limit of sessions or its rate limit."""


class ServerUnavailableError(RemoteError, ConnectionError):
    """No server answers, or it is stopping.

    Attributes:
        connected: Whether a connection had been established and broke.
        refused: Whether nothing listens at the address any more.
        silent: Whether the server has stopped answering, and counts as lost.
    """

    connected = False
    refused = False
    silent = False


class TlsError(ServerUnavailableError):
    """A server answers, but no secure connection can be made: one side lacks TLS, or rejects a certificate."""


class RequestTimeoutError(RemoteError, TimeoutError):
    """No answer arrived within the client's timeout."""


class SessionError(RemoteError):
    """The session cannot serve the request."""


class SessionClosedError(SessionError):
    """The environment was closed; `reset()` makes it again."""


class SessionLostError(SessionError):
    """The environment's process died, hung or expired; `reset()` makes a new one."""


class StepTimeoutError(SessionLostError, TimeoutError):
    """The environment did not answer within the server's timeout; its process was killed."""


class ReplayError(SessionLostError):
    """The session was lost and could not be restored by replay; `reset()` makes a new one."""


class ReplayMismatchError(ReplayError):
    """A replayed environment gave other answers than the lost one: it is not deterministic, or not the same version.

    Attributes:
        first: The first difference is in the answers to requests `first` to `last`, counted from 1 since the last
            reset with a seed.
        last: See `first`.
    """

    first = last = 0


class RemoteTracebackError(Exception):
    """Cause of an exception, which shows the traceback on the server."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"
