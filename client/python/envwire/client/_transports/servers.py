"""Chooses the server for an environment: the first of a list that answers and has capacity."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from envwire.client._transports.by_name import open_transport
from envwire.client._transports.connect_wait import ConnectWait
from envwire.client._transports.transport import Transport
from envwire.client.credentials import Credentials
from envwire.client.errors import CapacityError, ServerUnavailableError, TlsError
from envwire.client.options import ConnectionOptions

_log = logging.getLogger("envwire.client")

T = TypeVar("T")

#: HOST:PORT of a server, or a list of such, in the order to try; None for a transport that needs none.
Targets = str | Sequence[str | None] | None

#: One of several servers is not waited for longer than this in one round.
ROUND_SECONDS = 1.0
_PAUSE_SECONDS = 0.1


def target_list(targets: Targets) -> tuple[str | None, ...]:
    """Returns the targets that were given as one or as several.

    Raises:
        ValueError: The list is empty.
    """
    given: object = targets  # users pass other things as well, which are refused as targets later
    one = isinstance(given, str) or not isinstance(given, Sequence)
    listed: tuple[str | None, ...] = (targets,) if one else tuple(targets)  # type: ignore[assignment, arg-type]  # pyright: ignore
    if not listed:
        raise ValueError("an empty list of targets; name one server at least, HOST:PORT")
    return listed


class Refusals:
    """One search through a list of servers: how long it may take, and what those said that were asked.

    Args:
        targets: The servers, in the order to try.
        wait: How long it may take.
        clock: Monotonic time, in seconds.
    """

    def __init__(
        self,
        targets: Sequence[str | None],
        wait: ConnectWait,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._deadline = clock() + wait.seconds
        self._only = len(targets) == 1
        self._wait = wait
        self._found: list[CapacityError | ServerUnavailableError] = []

    @property
    def connect_wait(self) -> ConnectWait:
        """How long the next server is waited for: one that refuses comes again in the next round."""
        if self._only:
            return self._wait
        left = max(self._deadline - self._clock(), 0.05)
        return ConnectWait(min(left, ROUND_SECONDS), refused=False)

    def add(self, target: str | None, error: Exception) -> None:
        """Takes what a server said.

        Raises:
            Exception: It is no reason to ask another one.
        """
        if isinstance(error, TlsError) or not isinstance(
            error, (CapacityError, ServerUnavailableError)
        ):
            raise error
        if self._only:
            raise error
        _log.info("%s makes no environment: %s", target, error)
        self._found.append(error)

    def pause(self) -> float:
        """Ends a round in which no server made it; returns seconds to wait before the next one.

        Raises:
            CapacityError: No server that answers has room.
            ServerUnavailableError: None answers, and the time is up.
        """
        refusals, self._found = self._found, []
        if full := next((each for each in refusals if isinstance(each, CapacityError)), None):
            raise full
        if self._clock() > self._deadline:
            raise refusals[-1]
        return _PAUSE_SECONDS


class Servers:
    """The servers that may make an environment.

    Args:
        targets: Which.
        options: How they are reached.

    Attributes:
        targets: Which, in the order to try.
        options: How they are reached.

    Raises:
        ValueError: The list is empty.
    """

    def __init__(self, targets: Targets, options: ConnectionOptions) -> None:
        self.targets = target_list(targets)
        self.options = options
        self._spare: dict[str | None, Transport] = {}

    def starting_at(self, index: int) -> Servers:
        """Returns the same servers, to be tried from another one on."""
        others = Servers(self.targets[index:] + self.targets[:index], self.options)
        others._spare = self._spare
        return others

    def ordered(self, last: str | None = None) -> tuple[str | None, ...]:
        """Returns the targets in the order to try: one that just failed comes last."""
        return tuple(sorted(self.targets, key=lambda target: target is not None and target == last))

    def wait(self, *, again: bool = False) -> ConnectWait:
        """Returns how long servers are waited for.

        Args:
            again: Whether something is made again, that was lost with its server: that one may be about to come back.
        """
        wait = ConnectWait.of(self.options.connect_timeout)
        return wait._replace(refused=wait.refused or again)

    def open(self, target: str | None, wait: ConnectWait | None = None) -> Transport:
        """Opens the transport to one of them (see `open_transport`), or takes one that is open already."""
        spare = self._spare.pop(target, None)
        if spare is not None:
            return spare
        options = self.options
        return open_transport(options.transport, target, wait or self.wait(), options.credentials)

    def pronounced_dead(self, target: str, session_id: str) -> bool:
        """Returns whether a gateway says that the server of a session is dead (see `gateway.pronounces_dead`)."""
        from envwire.client._transports.gateway import pronounces_dead

        return pronounces_dead(target, self.options.credentials or Credentials(), session_id)

    def keep(self, target: str | None, transport: Transport) -> None:
        """Keeps an open transport, to be reused by the next `open` of this server."""
        if (before := self._spare.pop(target, None)) is not None:
            before.close()
        self._spare[target] = transport

    def make(self, make: Callable[[str | None, Transport], T], last: str | None = None) -> T:
        """Makes something at the first server that answers and has room.

        Args:
            make: Called with the target and the transport to it.
            last: A target to try behind the others, where what is made again was lost.

        Raises:
            CapacityError: No server that answers has room.
            ServerUnavailableError: None answers.
            Exception: Whatever else `make` raises.
        """
        targets = self.ordered(last)
        refusals = Refusals(targets, self.wait(again=last is not None))
        while True:
            for target in targets:
                try:
                    return make(target, self.open(target, refusals.connect_wait))
                except Exception as error:  # noqa: PERF203 - another server may have room
                    refusals.add(target, error)
            time.sleep(refusals.pause())

    def close(self) -> None:
        """Frees the transports that nobody took."""
        while self._spare:
            self._spare.popitem()[1].close()
