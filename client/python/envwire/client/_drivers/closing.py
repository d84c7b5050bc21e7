"""Closes several sessions at the same time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from envwire.client._drivers.blocking import BlockingDriver
from envwire.client._errors.losses import is_news


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
