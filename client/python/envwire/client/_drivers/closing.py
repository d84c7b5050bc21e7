"""Closing is idempotent: a session that is already gone, or whose server is unreachable, counts as closed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from envwire.client._drivers.blocking import BlockingDriver
from envwire.client.errors import (
    NotAllowedError,
    RemoteError,
    ServerUnavailableError,
    SessionError,
    StepTimeoutError,
)

#: Errors which mean that there is nothing left to close.
_GONE = (SessionError, ServerUnavailableError, NotAllowedError)


def close(driver: BlockingDriver) -> None:
    """Closes a session.

    Raises:
        Exception: Any exception of the environment.
    """
    try:
        driver.close()
    except RemoteError as error:
        if is_news(error):
            raise


def close_all(drivers: Sequence[BlockingDriver]) -> None:
    """Closes sessions at the same time.

    Raises:
        Exception: The first exception of the environments.
    """
    failures = _failures(BlockingDriver.begin_close, drivers)
    begun = [each for each in drivers if each not in failures and each.session.pending]
    failures.update(_failures(BlockingDriver.finish, begun))
    for driver in drivers:
        driver.kill()
    for error in filter(is_news, failures.values()):
        raise error


def _failures(
    function: Callable[[BlockingDriver], object], drivers: Iterable[BlockingDriver]
) -> dict[BlockingDriver, Exception]:
    """Calls a function for each driver, even if a call raises; returns the exceptions by driver."""
    failures: dict[BlockingDriver, Exception] = {}
    for driver in drivers:
        try:
            function(driver)
        except Exception as error:  # noqa: PERF203 - the other sessions have to be closed nevertheless
            failures[driver] = error
    return failures


def is_news(error: Exception) -> bool:
    """Returns whether a failed close is worth reporting: the session being gone already is not.

    An environment that hung while it was being closed is reported, although its session is gone too.
    """
    return isinstance(error, StepTimeoutError) or not isinstance(error, _GONE)
