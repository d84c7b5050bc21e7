"""Maps a fault that a server reports to the exception to raise: by its class, its reason or its status code."""

from __future__ import annotations

from collections.abc import Callable

from envwire.client import errors
from envwire.codec import (
    Family,
    FaultError,
    Reason,
    decode_fault,
    envwire_family,
    exception_from_fault,
)
from envwire.v1 import environment_pb2 as pb

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
