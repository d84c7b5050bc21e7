"""What a session process waits for: whichever of its sockets has something first."""

from __future__ import annotations

import select
from collections.abc import Callable, Iterator
from typing import Protocol

from envwire.wire.adaptive_spin import Patience


class Source(Protocol):
    """What can be waited for."""

    def fileno(self) -> int:
        """Returns the descriptor to wait on."""
        ...


class Waiting:
    """Sources, and what is to be done once they can be read."""

    def __init__(self) -> None:
        self._poll = select.poll()
        self._patience = Patience()
        self._ready: dict[int, Callable[[], None]] = {}

    def watch(self, source: Source, ready: Callable[[], None]) -> None:
        """Begins to wait for a source."""
        self._ready[source.fileno()] = ready
        self._poll.register(source.fileno(), select.POLLIN)

    def forget(self, source: Source) -> None:
        """Waits for a source no more; it must be open still."""
        del self._ready[source.fileno()]
        self._poll.unregister(source.fileno())

    def wait(self) -> Iterator[Callable[[], None]]:
        """Waits, and yields what is to be done now."""
        poll, patience = self._poll.poll, self._patience
        readable = patience.look(poll) or poll()
        patience.woke()
        for descriptor, _ in readable:
            # One source may have been replaced by another since the poll.
            if ready := self._ready.get(descriptor):
                yield ready
