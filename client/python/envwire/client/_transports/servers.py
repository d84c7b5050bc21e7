"""Where an environment is made: at the first server of a list that answers and has room."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from envwire.client._transports.by_name import open_transport
from envwire.client._transports.transport import Transport
from envwire.client.credentials import Credentials
from envwire.client.errors import CapacityError, ServerUnavailableError, TlsError

_log = logging.getLogger("envwire.client")

T = TypeVar("T")

#: HOST:PORT of a server, or a list of such, in the order to try; None for a transport that needs none.
Targets = str | Sequence[str | None] | None

#: One of several servers is not waited for longer than this in one round.
_ROUND_SECONDS = 1.0
_PAUSE_SECONDS = 0.1


class Servers:
    """The servers that may make an environment.

    Args:
        targets: Which.
        transport: Name of a transport, or a `Transport`.
        connect_timeout: Seconds to wait for the first of them to answer.
        credentials: Certificates and token.

    Raises:
        ValueError: The list is empty.
    """

    def __init__(
        self,
        targets: Targets,
        transport: str | Transport | None,
        connect_timeout: float,
        credentials: Credentials | None,
    ) -> None:
        one = targets is None or isinstance(targets, str) or not isinstance(targets, Sequence)
        self._targets: list[str | None] = [targets] if one else list(targets or ())  # type: ignore[list-item]  # pyright: ignore[reportAttributeAccessIssue]
        if not self._targets:
            raise ValueError("an empty list of targets; name one server at least, HOST:PORT")
        self._transport = transport
        self._timeout = connect_timeout
        self._credentials = credentials

    def open(self, target: str | None, timeout: float | None = None) -> Transport:
        """Opens the transport to one of them (see `open_transport`)."""
        timeout = self._timeout if timeout is None else timeout
        return open_transport(self._transport, target, timeout, self._credentials)

    def make(self, make: Callable[[str | None, Transport], T]) -> T:
        """Makes something at the first server that answers and has room.

        Args:
            make: Called with the target and the transport to it.

        Raises:
            CapacityError: No server that answers has room.
            ServerUnavailableError: None answers.
            Exception: Whatever else `make` raises.
        """
        if len(self._targets) == 1:
            return make(self._targets[0], self.open(self._targets[0]))
        deadline = time.monotonic() + self._timeout
        while True:
            refusals: list[CapacityError | ServerUnavailableError] = []
            for target in self._targets:
                left = max(deadline - time.monotonic(), 0.05)
                try:
                    return make(target, self.open(target, min(left, _ROUND_SECONDS)))
                except TlsError:
                    raise
                except (CapacityError, ServerUnavailableError) as refusal:
                    _log.info("%s makes no environment: %s", target, refusal)
                    refusals.append(refusal)
            if full := next((each for each in refusals if isinstance(each, CapacityError)), None):
                raise full
            if time.monotonic() > deadline:
                raise refusals[-1]
            time.sleep(_PAUSE_SECONDS)
