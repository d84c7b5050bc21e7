"""Maps errors to OpenEnv's error codes."""

from __future__ import annotations

from envwire.client import CapacityError, ServerUnavailableError, UnauthenticatedError
from envwire.openenv.messages import Code, RefusedError

#: Codes for Makes that failed for reasons outside the environment.
_WITHOUT_ENVIRONMENT: dict[type[Exception], Code] = {
    CapacityError: Code.CAPACITY_REACHED,
    UnauthenticatedError: Code.SESSION_ERROR,
    ServerUnavailableError: Code.SESSION_ERROR,
}


def refused_make(error: Exception) -> RefusedError:
    """Returns the refusal for an environment that could not be made."""
    kinds = (code for kind, code in _WITHOUT_ENVIRONMENT.items() if isinstance(error, kind))
    return RefusedError(next(kinds, Code.FACTORY_ERROR), describe_error(error))


def describe_error(error: Exception) -> str:
    """Returns the class and message of an exception as text, since OpenEnv's protocol carries no classes."""
    return f"{type(error).__name__}: {error}"
