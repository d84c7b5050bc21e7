"""Detects servers that have stopped answering: a stopped process keeps its connections open and sends nothing.

When an answer is late, the server's front is probed with a cheap request, on a separate connection with its own
deadline. While the front answers, the step is merely long. If it misses two probes in a row, the wait is ended. Only
sessions that can move to another server are watched; the others can only wait. If only a farm's gateway knows other
servers, the wait goes on until the gateway reports that the server is dead.

When the connection broke and cannot be made again, a single probe follows at once. This is what a lost machine looks
like: a killed container takes its address with it, so nothing is left there to refuse connections.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol
from weakref import WeakValueDictionary

from envwire.client._errors import server_dead
from envwire.client._transports.portability import THIS_PROCESS
from envwire.client._transports.transport import Transport
from envwire.client.credentials import Credentials
from envwire.client.errors import ServerUnavailableError
from envwire.v1 import environment_pb2 as pb

#: The front is probed when an answer is this late, and again after each further interval of this length.
LATE_SECONDS = 1.0
#: `LATE_SECONDS` for a request that is sent again because its connection broke.
CUT_SECONDS = 0.1
#: How long a probe waits: a front answers in milliseconds, an overloaded one within this time.
PROBE_SECONDS = 1.0
#: A server counts as silent after missing this many probes in a row; a single probe may be lost.
PROBES = 2
CUT_PROBES = 1
#: Seconds between questions to a gateway about a silent server, and how many are asked before it is probed again. A
#: gateway may take 4.5 s to declare a server dead; with new probes between two questions the wait was 6.3 to 6.5 s.
ASK_SECONDS, ASKS = 0.2, 10
#: `ASKS` between two attempts to reconnect.
CUT_ASKS = 3
#: For how long a gateway's answer that is not DEAD serves all sessions of a server, in seconds. Each asks five times a
#: second, over a channel of its own: 63 sessions of a stopped server asked up to 258 times until it was dead.
_FRESH_SECONDS = 0.1


class FailureDetector:
    """Decides whether a silent server is lost. This one takes silence for a loss: the client knows other servers.

    Attributes:
        has_gateway: Whether a gateway watches the server too, and may know that it ended before it misses a probe.
    """

    has_gateway = False

    @property
    def known(self) -> bool:
        """Whether it is already known to be lost, because another of its sessions has found out."""
        return False

    def ask(self, silent: bool, /) -> bool:
        """Returns whether it is lost; it may take a second.

        Args:
            silent: Whether it did not answer the probes.
        """
        return silent


@dataclass(eq=False)
class _Inquiry:
    """What a process asks a gateway about one run of a server, for all of its sessions there.

    Attributes:
        lock: Held while the gateway is asked, which takes a second at most.
        answered_at: Time of the last answer, in seconds.
        silent: Whether the gateway was told, in the last question, that the server is silent.
        dead: Whether the gateway has declared the server dead, which is final.
    """

    lock: threading.Lock = field(default_factory=threading.Lock)
    answered_at: float = -math.inf
    silent: bool = False
    dead: bool = False

    def is_fresh(self, silent: bool) -> bool:
        """Returns whether the last answer serves this question as well."""
        told_enough = self.silent or not silent
        return told_enough and time.monotonic() - self.answered_at <= _FRESH_SECONDS


#: By process, since a forked child must not wait for its parent's locks. Sessions keep the inquiries.
_inquiries: WeakValueDictionary[tuple[object, ...], _Inquiry] = WeakValueDictionary()


class GatewayDetector(FailureDetector):
    """Asks the gateway through which a session was made.

    Args:
        credentials: The client's; None for those from the environment variables.
        target: HOST:PORT of the gateway.
        made: The answer to the session's Make.
    """

    has_gateway = True

    def __init__(self, credentials: Credentials | None, target: str, made: pb.MakeResponse) -> None:
        self._credentials = credentials
        self._target = target
        self._session_id = made.session_id
        run = made.incarnation or made.session_id
        key = THIS_PROCESS.pid, target, credentials, run
        self._inquiry = _inquiries.setdefault(key, _Inquiry())

    @property
    def known(self) -> bool:
        """Whether the gateway has declared the server dead."""
        return self._inquiry.dead

    def ask(self, silent: bool, /) -> bool:
        """Returns whether the gateway declares the server dead (see `FailureDetector.ask`)."""
        from envwire.client._transports.grpc.gateway import is_server_dead

        inquiry = self._inquiry
        with inquiry.lock:
            if not (inquiry.dead or inquiry.is_fresh(silent)):
                server = self._target, self._credentials or Credentials(), self._session_id
                inquiry.dead = is_server_dead(*server, silent)
                inquiry.answered_at, inquiry.silent = time.monotonic(), silent
        return inquiry.dead


class Waits(Protocol):
    """How the caller of a `FailureMonitor` waits."""

    def call(self, function: Callable[[], bool], /) -> Awaitable[bool]:
        """Calls a function that may take a second."""
        ...

    def pause(self, seconds: float, /) -> Awaitable[None]:
        """Waits."""
        ...


class Timer(Protocol):
    """Calls back when a wait ends without having been stopped."""

    def start(self, seconds: float) -> None:
        """Starts a wait."""

    def stop(self) -> None:
        """Ends a wait."""


@dataclass(eq=False)
class FailureMonitor:
    """Watches the waits on one connection, and ends a wait whose server is lost.

    Args:
        _timer: Calls back when an answer is late; then the caller runs `judge`.
        _server: The transport that probes the server.
        _detector: Decides whether a silent server is lost.
        _interrupt: Ends the wait.
        _waits: How it waits itself.

    Attributes:
        cut_at: When the connection first failed since the last reply, in seconds; 0 if it has not.
    """

    _timer: Timer
    _server: Transport
    _detector: FailureDetector
    _interrupt: Callable[[], object]
    _waits: Waits
    _wait: int = 0
    #: The wait that was ended because of silence.
    _silent: int = -1
    cut_at: float = 0.0

    def begin(self) -> None:
        """Begins a wait.

        Raises:
            ServerUnavailableError: The connection broke, and the server is known to be lost.
        """
        self._wait += 1
        if not self.cut_at:
            self._timer.start(LATE_SECONDS)
        elif self._detector.known:
            raise server_dead()
        else:
            self._timer.start(CUT_SECONDS)

    def end(self) -> None:
        """Ends a wait."""
        self._timer.stop()
        self._wait += 1

    async def failed(self, failure: ServerUnavailableError, now: float) -> bool:
        """Returns whether a wait that failed means that the server is lost. A refused connection is not silence.

        Args:
            failure: How it failed.
            now: Monotonic time, in seconds.
        """
        self._timer.stop()
        if self._silent == self._wait or self._detector.known:
            return True
        self.cut_at = self.cut_at or now
        if failure.refused or now - self.cut_at < CUT_SECONDS:
            return False
        return await self._is_lost(self._wait, CUT_ASKS)

    def judge(self) -> Coroutine[Any, Any, None]:
        """Ends the current wait if its server is lost; otherwise has the server probed again later."""
        return self._judge(self._wait)

    async def _judge(self, wait: int) -> None:
        lost = await self._is_lost(wait, ASKS)
        if self._wait != wait:
            return
        if lost:
            self._silent = wait
            self._interrupt()
        else:
            self._timer.start(LATE_SECONDS)

    async def _is_lost(self, wait: int, asks: int) -> bool:
        """Returns whether the server is silent and counts as lost; False as soon as the wait has ended."""
        call, detector, cut = self._waits.call, self._detector, bool(self.cut_at)
        if cut and detector.has_gateway and await call(partial(detector.ask, False)):
            return True
        for _ in range(CUT_PROBES if cut else PROBES):
            if await call(partial(self._server.probe, PROBE_SECONDS)) or self._wait != wait:
                return False
        for _ in range(asks):
            lost = await call(partial(detector.ask, True))
            if lost or self._wait != wait:
                return lost
            await self._waits.pause(ASK_SECONDS)
        return False
