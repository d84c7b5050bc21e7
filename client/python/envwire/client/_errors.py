"""From what failed to the exception to raise: a connection, a request that a server refused, a session that is lost.

Closing is idempotent: a session that is already gone, or whose server is unreachable, counts as closed.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from envwire.client import errors
from envwire.client.errors import InvalidRequestError, RequestTimeoutError, ServerUnavailableError
from envwire.codec import (
    Family,
    FaultError,
    Reason,
    decode_fault,
    envwire_family,
    exception_from_fault,
)
from envwire.v1 import environment_pb2 as pb

#: A hint for servers elsewhere: such a path lets connections open, and small requests pass.
_LOST_ON_THE_WAY = (
    ". If small answers arrive and large ones never do, the network loses packets of full size: lower the MTU of the "
    "interface, as docs/wide-area.md says"
)
#: The names of this machine and its sockets.
_HERE = re.compile(r"\b(localhost|127(\.\d+){3}|unix(-abstract)?):|\[::1\]:")


def unavailable(
    text: str, advice: str = "", *, connected: bool = False, refused: bool = False
) -> ServerUnavailableError:
    """Returns the exception for a failure, with what is known of the connection (see `ServerUnavailableError`)."""
    error = ServerUnavailableError(text, advice)
    error.connected, error.refused = connected, refused
    return error


def refused(target: str, question: str = "", advice: str = "") -> ServerUnavailableError:
    """Returns the exception for an address that refuses connections."""
    return unavailable(f"nothing listens at {target}{question}", advice, refused=True)


def nothing_listens(target: str) -> ServerUnavailableError:
    """Returns the exception for a first connection that is refused."""
    return refused(
        target,
        "; is the server running (envwire serve ...), and is the port right?",
        " For a server that is about to start, connect_timeout= says how many seconds to wait",
    )


def unavailable_through(variable: str, target: str, details: str) -> ServerUnavailableError:
    """Returns the exception for a connection that a proxy does not make, which says nothing about the server.

    Args:
        variable: The environment variable that names the proxy. Its value may hold a password.
        target: The server.
        details: gRPC's description of the failure.
    """
    return unavailable(
        f"no connection to {target} through the proxy that the variable {variable} names: {details}",
        f"; correct {variable}, list the host in no_proxy, or leave out http_proxy=True (ENVWIRE_HTTP_PROXY) to "
        "connect without a proxy",
    )


def broken(text: str) -> ServerUnavailableError:
    """Returns the exception for a connection that was established and broke."""
    return unavailable(text, connected=True)


def server_gone(
    label: str, seconds: float, failure: ServerUnavailableError, *, others: bool
) -> ServerUnavailableError:
    """Returns the exception for a session whose server has stopped: its address refuses connections.

    Args:
        label: Names the session.
        seconds: For how long it was tried.
        failure: The last failure.
        others: Whether the session may be made on another server.
    """
    advice = (
        "; another server can make it anew"
        if others
        else ". Once it runs again (envwire serve ...), reset() makes the environment anew; on_lost='replay' goes on "
        "at another server of a list or a farm"
    )
    return unavailable(
        f"{label}: {failure} any more, tried for {seconds:.1f} s. The server was stopped or crashed, and the "
        "environment with it",
        advice,
        refused=True,
    )


def server_unreachable(
    label: str, seconds: float, lease: float, failure: ServerUnavailableError
) -> ServerUnavailableError:
    """Returns the exception for a session whose server cannot be reached, though it may still run."""
    return ServerUnavailableError(
        f"{label}: {failure}. No connection could be made for {seconds:.1f} s",
        f"; the server keeps the environment for {lease:g} s (lease=). Try again before that is over, or call reset() "
        "when the server can be reached",
    )


def server_dead() -> ServerUnavailableError:
    """Returns the exception for a session whose server is known to be dead."""
    error = ServerUnavailableError("the gateway says that the server of the session is dead")
    error.silent = True
    return error


def no_answer(target: str, timeout: float) -> ServerUnavailableError:
    """Returns the exception for a first connection that gets no answer in time."""
    return ServerUnavailableError(
        f"no server answers at {target} within {timeout:g} s; is it running (envwire serve ...), and is the address "
        "right?"
    )


def timed_out(target: str, timeout: float, connections: int = 1) -> RequestTimeoutError:
    """Returns the exception for a reply that did not arrive in time.

    Args:
        target: The server, or the session.
        timeout: Seconds that were waited in all.
        connections: On how many connections.
    """
    times = f", on {connections} connections" if connections > 1 else ""
    hint = "" if _HERE.search(target) else _LOST_ON_THE_WAY
    return RequestTimeoutError(
        f"no answer from {target} within {timeout:.3g} s{times}; the request may have been served all the same",
        f". Give RemoteEnv a longer timeout=, or look at what the environment does there{hint}",
    )


def too_large(target: str, details: str) -> InvalidRequestError:
    """Returns the exception for a message that exceeds the server's limit."""
    error = InvalidRequestError(
        f"a message to {target} was too large ({details}); the server's operator raises the limit with "
        "--max-message-bytes"
    )
    error.reason = Reason.MESSAGE_TOO_LARGE.value
    return error


#: The reasons for which Gymnasium, `envwire.envs` or Python has an exception.
LIBRARY_CLASSES: dict[Reason, Callable[[Family], type[Exception]]] = {
    Reason.INVALID_ACTION: lambda family: family.error.InvalidAction,
    Reason.UNKNOWN_ENVIRONMENT: lambda family: family.error.NameNotFound,
    Reason.ATTRIBUTE_MISSING: lambda _: AttributeError,
    Reason.RESET_NEEDED: lambda family: family.error.ResetNeeded,
}

#: The class for each gRPC status code; the other codes give a plain RemoteError. The code is that of the reason, or
#: that of the fault if its reason is missing or unknown: a proxy's, a newer server's.
CLASSES_BY_CODE: dict[int, type[errors.RemoteError]] = {
    2: errors.RemoteEnvError,  # UNKNOWN: what code on the server raised
    3: errors.InvalidRequestError,  # INVALID_ARGUMENT
    4: errors.RequestTimeoutError,  # DEADLINE_EXCEEDED
    7: errors.NotAllowedError,  # PERMISSION_DENIED
    8: errors.CapacityError,  # RESOURCE_EXHAUSTED
    9: errors.SessionError,  # FAILED_PRECONDITION
    10: errors.SessionError,  # ABORTED
    11: errors.InvalidRequestError,  # OUT_OF_RANGE
    12: errors.InvalidRequestError,  # UNIMPLEMENTED
    14: errors.ServerUnavailableError,  # UNAVAILABLE
    16: errors.UnauthenticatedError,  # UNAUTHENTICATED
}

#: The class for each reason that has a more exact one than its status code.
CLASSES: dict[Reason, type[errors.RemoteError]] = {
    Reason.UNKNOWN_SESSION: errors.SessionLostError,
    Reason.SESSION_CLOSED: errors.SessionClosedError,
    Reason.SEQUENCE_GAP: errors.SessionError,
    Reason.SEQUENCE_REUSED: errors.SessionError,
    Reason.MESSAGE_TOO_LARGE: errors.InvalidRequestError,
    Reason.SESSION_EXPIRED: errors.SessionLostError,
    Reason.SESSION_LOST: errors.SessionLostError,
    Reason.STEP_TIMEOUT: errors.StepTimeoutError,
}


def broken_answer(label: str, error: Exception) -> errors.RemoteError:
    """Returns the exception for an answer that cannot be read."""
    what = f"{label}: an answer of the server breaks the protocol: {error}"
    return errors.RemoteError(what, " `envwire conformance` checks a server.")


def exception(fault: FaultError, family: Family) -> BaseException:
    """Returns the exception to raise for a fault, with the remote traceback as its cause.

    Its class is the one that the server names, if this program has it; otherwise it follows from the reason, or from
    the status code if the reason is missing or unknown.
    """
    error = exception_from_fault(fault, family) or _by_reason(fault, family)
    if isinstance(error, (ImportError, family.error.DependencyNotInstalled)):
        error = type(error)(
            f"{error} (on the server, whose environment needs it; this program does not)"
        )
    if fault.traceback:
        error.__cause__ = errors.RemoteTracebackError("\n".join(fault.traceback))
    return error


def checked(response: pb.InteractResponse) -> pb.InteractResponse:
    """Returns a response, or raises the exception for its error.

    Raises:
        Exception: The exception for the error.
    """
    if response.HasField("error"):
        family = envwire_family()
        raise exception(decode_fault(response.error, family), family)
    return response


def note_making(error: BaseException, request: pb.MakeRequest) -> None:
    """Adds notes to an exception of a Make: a bare KeyError would not say so, nor who else is in the process."""
    add_note = getattr(error, "add_note", None)  # since Python 3.11
    if isinstance(error.__cause__, errors.RemoteTracebackError) and add_note is not None:
        add_note(f"raised on the server, while {request.env_id} was made")
        members, mode = request.vector.num_envs, request.vector.vectorization_mode
        if members > 1 and mode in {"", "sync"}:
            add_note(f"one process makes {members} of them; sessions= spreads them over more")


def _by_reason(fault: FaultError, family: Family) -> Exception:
    if fault.reason in LIBRARY_CLASSES:
        return LIBRARY_CLASSES[fault.reason](family)(_text(fault))
    code = fault.reason.code
    if fault.reason is Reason.INTERNAL and fault.code != code:
        return CLASSES_BY_CODE.get(fault.code, errors.RemoteError)(_text(fault))
    kind = CLASSES.get(fault.reason) or CLASSES_BY_CODE.get(code, errors.RemoteError)
    error = kind(_text(fault))
    error.reason = fault.reason.value
    error.metadata = dict(fault.metadata)
    error.output = fault.output
    error.retry_after = fault.retry_after
    return error


def _text(fault: FaultError) -> str:
    text = fault.message
    if fault.exception is not None:
        text = ": ".join(filter(None, (fault.exception.type_name, fault.exception.text)))
    return f"{text}\nThe end of its output:\n{fault.output}" if fault.output else text


#: The reasons that end a session.
ENDS: frozenset[str] = frozenset(reason for reason in Reason if reason.ends_session)

#: Errors which mean that there is nothing left to close.
_GONE = (errors.SessionError, errors.ServerUnavailableError, errors.NotAllowedError)


def is_lost(error: Exception) -> bool:
    """Returns whether an error means that the session is lost: the server ended it, or cannot be reached."""
    return isinstance(error, errors.ServerUnavailableError) or (
        isinstance(error, errors.RemoteError) and error.reason in ENDS
    )


def should_report(error: Exception) -> bool:
    """Returns whether a failed close is worth reporting: the session being gone already is not.

    An environment that hung while it was being closed is reported, although its session is gone too.
    """
    return isinstance(error, errors.StepTimeoutError) or not isinstance(error, _GONE)


def not_live(owner: object, pid: int | None = None) -> errors.SessionClosedError:
    """Returns the exception for an environment that has no session in this process.

    Args:
        owner: The environment, or several.
        pid: Id of the other process that made its session; None if the session was closed or lost.
    """
    text = "is closed, or its session was lost; reset() makes it again"
    if pid is not None:
        text = f"was made in process {pid}, before a fork; reset() makes one for this process"
    return errors.SessionClosedError(f"{owner} {text}")
