"""Chooses the server for an environment: the first of a list that answers and has capacity."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from envwire.client._transports.by_name import open_transport
from envwire.client._transports.targets import ConnectWait
from envwire.client._transports.transport import Transport
from envwire.client.errors import CapacityError, ServerUnavailableError, TlsError
from envwire.client.options import ConnectionOptions

_log = logging.getLogger("envwire.client")

T = TypeVar("T")

#: HOST:PORT of a server, or a list of them in the order to try; None for a transport that needs no target.
Targets = str | Sequence[str | None] | None

#: How long one round waits for each of several servers.
_ROUND_SECONDS = 1.0
_PAUSE_SECONDS = 0.1


class ServerSearch:
    """One search through a list of servers: its deadline, and the errors of the servers tried so far.

    Args:
        targets: The servers, in the order to try.
        wait: How long the search may take.
    """

    def __init__(self, targets: Sequence[str | None], wait: ConnectWait) -> None:
        self._deadline = time.monotonic() + wait.seconds
        self._only = len(targets) == 1
        self._wait = wait
        self._errors: list[Exception] = []

    @property
    def connect_wait(self) -> ConnectWait:
        """How long to wait for the next server; if one of several refuses, the next round tries it again."""
        if self._only:
            return self._wait
        left = max(self._deadline - time.monotonic(), 0.05)
        return ConnectWait(min(left, _ROUND_SECONDS), refused=False)

    def add(self, target: str | None, error: Exception) -> None:
        """Records the error of a server.

        Raises:
            Exception: The error itself, if trying another server cannot help.
        """
        lacks = isinstance(error, (CapacityError, ServerUnavailableError))
        if self._only or not lacks or isinstance(error, TlsError):
            raise error
        _log.info("%s makes no environment: %s", target, error)
        self._errors.append(error)

    def pause(self) -> float:
        """Ends a round in which no server made the environment; returns the seconds to wait before the next round.

        Raises:
            CapacityError: No server that answers has capacity.
            ServerUnavailableError: No server answers, and the time is up.
        """
        errors, self._errors = self._errors, []
        if full := next((each for each in errors if isinstance(each, CapacityError)), None):
            raise full
        if time.monotonic() > self._deadline:
            raise errors[-1]
        return _PAUSE_SECONDS


class Servers:
    """The servers that may make an environment.

    Args:
        targets: The targets.
        options: How to connect to them.

    Attributes:
        targets: The targets, in the order to try.
        options: How to connect to them.

    Raises:
        ValueError: The list is empty.
    """

    def __init__(self, targets: Targets, options: ConnectionOptions) -> None:
        given: object = targets  # values of other types are reported by `checked` later
        one = isinstance(given, str) or not isinstance(given, Sequence)
        self.targets: tuple[str | None, ...] = (targets,) if one else tuple(targets)  # type: ignore[assignment, arg-type]  # pyright: ignore
        if not self.targets:
            raise ValueError("an empty list of targets; name at least one server, HOST:PORT")
        self.options = options
        self._spare: dict[str | None, Transport] = {}

    def starting_at(self, index: int) -> Servers:
        """Returns the same servers, rotated to begin with the one at `index`."""
        others = Servers(self.targets[index:] + self.targets[:index], self.options)
        others._spare = self._spare
        return others

    def wait(self, *, again: bool = False) -> ConnectWait:
        """Returns how long to wait for servers.

        Args:
            again: Whether a lost session is made again, whose server may be restarting.
        """
        wait = ConnectWait.of(self.options.connect_timeout)
        return wait._replace(refused=wait.refused or again)

    def open(self, target: str | None, wait: ConnectWait | None = None) -> Transport:
        """Opens a transport to a target (see `open_transport`), or returns one that `keep` received."""
        spare = self._spare.pop(target, None)
        if spare is not None:
            return spare
        options = self.options
        transport = open_transport(
            options.transport,
            target,
            wait or self.wait(),
            options.credentials,
            options.direct_port,
        )
        if options.liveness is not None:
            transport.watch_path(options.liveness)
        transport.compress(options.compression)
        return transport

    def keep(self, target: str | None, transport: Transport) -> None:
        """Keeps an open transport for the next `open` of this target."""
        if (before := self._spare.pop(target, None)) is not None:
            before.close()
        self._spare[target] = transport

    def make(self, make: Callable[[str | None, Transport], T], last: str | None = None) -> T:
        """Makes a session on the first server that answers and has capacity.

        Args:
            make: Makes it; called with a target and a transport to it.
            last: The target of the lost session that this one replaces, to try last; None for a first session.

        Raises:
            CapacityError: No server that answers has capacity.
            ServerUnavailableError: No server answers.
            Exception: Any other exception of `make`.
        """
        targets = sorted(self.targets, key=lambda target: last is not None and target == last)
        search = ServerSearch(targets, self.wait(again=last is not None))
        while True:
            for target in targets:
                try:
                    return make(target, self.open(target, search.connect_wait))
                except Exception as error:  # noqa: PERF203 - another server may have capacity
                    search.add(target, error)
            time.sleep(search.pause())

    def close(self) -> None:
        """Closes the kept transports that were not reused."""
        while self._spare:
            self._spare.popitem()[1].close()
