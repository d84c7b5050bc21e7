"""What each reason of an error means to a client, written a second time: tests compare the code with it."""

from __future__ import annotations

from envwire.client import errors

#: The status code of each reason, and its exception in the client; None for those of the environment's own library.
REASONS: dict[str, tuple[str, type[errors.RemoteError] | None]] = {
    "MALFORMED_REQUEST": ("INVALID_ARGUMENT", errors.InvalidRequestError),
    "INVALID_VALUE": ("INVALID_ARGUMENT", errors.InvalidRequestError),
    "INVALID_ACTION": ("INVALID_ARGUMENT", None),
    "UNKNOWN_ENVIRONMENT": ("NOT_FOUND", None),
    "UNKNOWN_SESSION": ("NOT_FOUND", errors.SessionLostError),
    "ATTRIBUTE_MISSING": ("NOT_FOUND", None),
    "KWARGS_NOT_ALLOWED": ("PERMISSION_DENIED", errors.NotAllowedError),
    "WRAPPER_NOT_ALLOWED": ("PERMISSION_DENIED", errors.NotAllowedError),
    "ATTRIBUTE_NOT_ALLOWED": ("PERMISSION_DENIED", errors.NotAllowedError),
    "WRONG_SECRET": ("PERMISSION_DENIED", errors.NotAllowedError),
    "UNAUTHENTICATED": ("UNAUTHENTICATED", errors.UnauthenticatedError),
    "SCOPE_MISSING": ("PERMISSION_DENIED", errors.NotAllowedError),
    "SESSION_CLOSED": ("FAILED_PRECONDITION", errors.SessionClosedError),
    "RESET_NEEDED": ("FAILED_PRECONDITION", None),
    "SEQUENCE_GAP": ("OUT_OF_RANGE", errors.SessionError),
    "SEQUENCE_REUSED": ("INVALID_ARGUMENT", errors.SessionError),
    "REQUEST_ID_REUSED": ("INVALID_ARGUMENT", errors.InvalidRequestError),
    "CAPACITY_REACHED": ("RESOURCE_EXHAUSTED", errors.CapacityError),
    "CLIENT_LIMIT_REACHED": ("RESOURCE_EXHAUSTED", errors.CapacityError),
    "RATE_LIMITED": ("RESOURCE_EXHAUSTED", errors.CapacityError),
    "MESSAGE_TOO_LARGE": ("RESOURCE_EXHAUSTED", errors.InvalidRequestError),
    "DRAINING": ("UNAVAILABLE", errors.ServerUnavailableError),
    "SESSION_EXPIRED": ("ABORTED", errors.SessionLostError),
    "SESSION_LOST": ("ABORTED", errors.SessionLostError),
    "STEP_TIMEOUT": ("DEADLINE_EXCEEDED", errors.StepTimeoutError),
    "ENVIRONMENT_RAISED": ("UNKNOWN", errors.RemoteEnvError),
    "UNSUPPORTED": ("UNIMPLEMENTED", errors.InvalidRequestError),
    "INTERNAL": ("INTERNAL", errors.RemoteError),
}
