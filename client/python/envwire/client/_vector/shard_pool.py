"""The shards of a vector environment: makes them together, makes lost ones again, and closes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from envwire.client._drivers.blocking import BlockingDriver
from envwire.client._drivers.coroutines import at_once
from envwire.client._errors import not_live, should_report
from envwire.client._recovery.session_handle import SessionHandle
from envwire.client._transports.portability import THIS_PROCESS
from envwire.client._vector.layout import ShardSpec
from envwire.client._vector.making import VectorServers
from envwire.client._vector.shards import Shard
from envwire.v1 import environment_pb2 as pb


class ShardPool:
    """All shards of a vector environment.

    Args:
        label: Names the vector environment in messages.

    Attributes:
        shards: The shards in the order of their environments.
    """

    def __init__(self, label: str) -> None:
        self.shards: list[Shard] = []
        self._label = label
        self._pid = THIS_PROCESS.pid

    def make(self, specs: Sequence[ShardSpec], servers: VectorServers) -> list[pb.MakeResponse]:
        """Makes all sessions; returns the answers to their Makes.

        Args:
            specs: The environments of each shard.
            servers: The servers.
        """
        self.shards = [servers.shard(spec, self._label, Shard) for spec in specs]
        return at_once(SessionHandle.make, [shard.handle for shard in self.shards])

    def make_missing(self) -> None:
        """Makes the sessions that are missing in this process."""
        if self._pid != THIS_PROCESS.pid:
            for shard in self.shards:
                shard.handle.kill()
            self._pid = THIS_PROCESS.pid
        handles = [shard.handle for shard in self.shards]
        at_once(SessionHandle.make, [handle for handle in handles if handle.driver is None])

    def check_live(self, closed: bool) -> None:
        """Checks that the environments can step in this process.

        Args:
            closed: Whether they are closed.

        Raises:
            SessionClosedError: The environments are closed, or belong to a parent process.
        """
        if closed or self._pid != THIS_PROCESS.pid:
            raise not_live(self._label, None if closed else self._pid)

    def live(self) -> list[Shard]:
        """Returns the shards, after checking that each has a session.

        Raises:
            SessionClosedError: A session was lost.
        """
        if any(shard.handle.driver is None for shard in self.shards):
            raise not_live(self._label)
        return self.shards

    def close(self) -> None:
        """Closes the sessions of this process, but not those of a parent process.

        Raises:
            Exception: The first exception of the environments.
        """
        sessions = [shard.handle.release() for shard in self.shards]
        close_all([each for each in sessions if each is not None and each.pid == THIS_PROCESS.pid])

    def kill(self) -> None:
        """Closes the sessions that were made before one could not be made."""
        for shard in self.shards:
            shard.handle.kill(close=True)


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
    for error in filter(should_report, failures.values()):
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
