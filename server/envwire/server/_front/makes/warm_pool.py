"""The pool of environments that are made before clients ask for them, while slots are free.

A client gets one only if its Make equals the operator's item, so it cannot be told apart from one made on demand.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from envwire.codec import FaultError, encode_mapping
from envwire.server._auth.allow_list import MakeOrder
from envwire.server._front.sessions.table import Sessions
from envwire.server._logs import extra
from envwire.server._processes.environments import Environments
from envwire.server._processes.forkserver_start import Loaded
from envwire.server._processes.link import LinkLostError, SessionLink
from envwire.server._processes.process import Process
from envwire.server._settings.checks import WarmItem, read_item
from envwire.server.config import ServerConfig
from envwire.v1 import environment_pb2 as pb

_log = logging.getLogger("envwire.server")

#: Bounds of the pause after an environment died or could not be made, in seconds; it doubles each time.
_FIRST_PAUSE, _MAX_PAUSE = 1.0, 60.0


class NotMadeError(Exception):
    """The environment could not be made ahead."""


class WarmEnvironment:
    """An environment made ahead by `make`, in a process that has served no client, until a client takes it.

    Args:
        env_id: Its id.
        process: Its process, in which it occupies a slot.
        on_lost: Called when the process is gone.

    Attributes:
        link: The environment's session in its process.
        reply: The process's answer to the Make.
    """

    def __init__(
        self, env_id: str, process: Process, on_lost: Callable[[WarmEnvironment], None]
    ) -> None:
        self.process = process
        self.reply = b""
        self._env_id = env_id
        self._on_lost = on_lost
        self.link: SessionLink = process.open(self)

    async def make(self, order: MakeOrder, timeout: float) -> None:
        """Makes the environment.

        Raises:
            NotMadeError: The environment raised or took too long, or its process is gone.
        """
        try:
            self.reply = await asyncio.wait_for(self.link.make(order), timeout)
        except asyncio.TimeoutError:
            self.process.kill()
            raise NotMadeError(f"it took longer than {timeout:g} s") from None
        except LinkLostError:
            raise NotMadeError(f"its process {self.process.pid} ended") from None
        reply = pb.InteractResponse.FromString(self.reply)
        if not reply.HasField("make"):
            raise NotMadeError(reply.error.message)

    def close(self) -> None:
        """Ends its session, which closes the environment."""
        self.process.end(self.link)

    @property
    def label(self) -> str:
        """Name of the environment in the operator's log."""
        return f"a warm environment ({self._env_id})"

    @property
    def log_fields(self) -> dict[str, str]:
        """Its fields in a JSON log."""
        return {"session": "", "client": "", "env_id": self._env_id}

    def on_reply(self) -> None:
        """Does nothing, since `make` reads the reply."""

    def on_closed(self) -> None:
        """Treats an ended session as lost."""
        self._on_lost(self)

    def on_lost(self) -> None:
        """Reports that the process is gone."""
        self._on_lost(self)


@dataclass(eq=False)
class _Stock:
    """The environments of one of the operator's items.

    Attributes:
        item: The operator's item.
        order: The order to make one.
        ready: Environments that are ready.
        pause: Seconds to wait after a failure; 0 after a success.
        not_before: Earliest time to make the next one.
    """

    item: WarmItem
    order: MakeOrder
    ready: deque[WarmEnvironment] = field(default_factory=deque[WarmEnvironment])
    pause: float = 0.0
    not_before: float = 0.0


class WarmPool:
    """Makes the environments of one server ahead, one at a time.

    They occupy free slots: as sessions take these, environments of the pool are closed.

    Args:
        config: The server's settings.
        environments: The environments that the server makes.
        sessions: The sessions, which hold the slots.

    Raises:
        ValueError: An environment is not served, or its keyword arguments are not allowed.
    """

    def __init__(
        self, config: ServerConfig, environments: Environments, sessions: Sessions
    ) -> None:
        self._sessions = sessions
        self._environments = environments
        self._make_timeout = config.make_timeout
        self._stocks: dict[bytes, _Stock] = {}
        self._filling: asyncio.Task[None] | None = None
        self._exiting: list[Process] = []
        self._closed = False
        for text in config.warm:
            identity, stock = _stock(environments, read_item(text))
            self._stocks[identity] = stock

    def ready(self) -> Counter[str]:
        """Returns the number of ready environments, by id."""
        count = Counter[str]()
        for stock in self._stocks.values():
            count[stock.item.env_id] += len(stock.ready)
        return count

    def take(self, request: pb.MakeRequest, client: str) -> WarmEnvironment | None:
        """Returns a ready environment that matches a Make, if there is one; it belongs to the client from now on.

        Args:
            request: The client's Make.
            client: The client's name.
        """
        if not self._stocks:
            return None
        stock = self._stocks.get(_identity(request, self._environments.loaded))
        while stock is not None and stock.ready:
            warm = stock.ready.popleft()
            if warm.process.alive:
                stock.pause = 0.0
                self._environments.placement.give(warm.process, client)
                return warm
        return None

    def sweep(self) -> None:
        """Closes environments whose slots sessions need, and begins to make missing ones."""
        for stock in reversed(self._stocks.values()):
            while stock.ready and self._room() < 0:
                stock.ready.pop().close()
        if self._next() is not None and (self._filling is None or self._filling.done()):
            self._filling = asyncio.ensure_future(self._fill())

    def _room(self) -> int:
        """Returns how many more environments the pool may hold; negative if it has too many."""
        return self._sessions.free - sum(len(stock.ready) for stock in self._stocks.values())

    def _next(self) -> _Stock | None:
        """Returns the stock to fill next, if any."""
        for stock in self._stocks.values():
            missing = (
                len(stock.ready) < stock.item.count and stock.not_before <= self._sessions.clock()
            )
            if missing and not self._closed and self._room() > 0:
                return stock
        return None

    async def _fill(self) -> None:
        while (stock := self._next()) is not None:
            await self._add(stock)

    async def _add(self, stock: _Stock) -> None:
        try:
            stock.ready.append(await self._make(stock))
        except Exception as error:  # after any error the next attempt must wait
            self._back_off(stock, f"was not made: {error}")

    async def _make(self, stock: _Stock) -> WarmEnvironment:
        process = await self._environments.placement.fresh()
        warm = WarmEnvironment(stock.item.env_id, process, lambda lost: self._on_lost(stock, lost))
        try:
            await warm.make(stock.order, self._make_timeout)
        except BaseException:
            warm.close()
            raise
        return warm

    def _on_lost(self, stock: _Stock, warm: WarmEnvironment) -> None:
        if warm in stock.ready:
            stock.ready.remove(warm)
            self._back_off(stock, f"died: process {warm.process.pid} ended")

    def _back_off(self, stock: _Stock, what: str) -> None:
        stock.pause = min(2 * stock.pause, _MAX_PAUSE) or _FIRST_PAUSE
        stock.not_before = self._sessions.clock() + stock.pause
        text = "a warm environment %s %s; the next one is made in %g s"
        fields = extra(env_id=stock.item.env_id)
        _log.warning(text, stock.item.env_id, what, stock.pause, extra=fields)

    def close(self) -> None:
        """Closes all environments and stops making new ones."""
        self._closed = True
        if self._filling is not None:
            self._filling.cancel()
        for stock in self._stocks.values():
            while stock.ready:
                warm = stock.ready.pop()
                warm.close()
                self._exiting.append(warm.process)

    async def stop(self) -> None:
        """Closes all environments and waits until their processes are gone. Stopping twice is harmless."""
        self.close()
        if self._filling is not None:
            await asyncio.wait({self._filling})
        await asyncio.gather(*(process.wait_exited() for process in self._exiting))


def _stock(environments: Environments, item: WarmItem) -> tuple[bytes, _Stock]:
    """Returns an item's identity and its stock.

    Raises:
        ValueError: The server does not have the environment, or its keyword arguments are not allowed.
    """
    kwargs = dict(item.kwargs)
    request = pb.MakeRequest(env_id=item.env_id, render_mode=kwargs.pop("render_mode", None))
    encode_mapping(kwargs, request.kwargs)
    if item.env_id not in environments.loaded.ids:
        raise ValueError(f"warm (--warm) names {item.env_id!r}, which is not among environments")
    try:
        order = environments.allow_list.check(request)
        return _identity(request, environments.loaded), _Stock(item, order)
    except FaultError as fault:
        raise ValueError(f"warm (--warm) names what no client may make: {fault.message}") from fault


def _identity(request: pb.MakeRequest, loaded: Loaded) -> bytes:
    """Returns a key that is equal for Makes of the same environment: library, id, keyword arguments, wrappers."""
    plain = pb.MakeRequest()
    plain.CopyFrom(request)
    for name in ("lease", "request_id", "prefer"):
        plain.ClearField(name)
    names = [request.prefer, *(library.name for library in loaded.libraries)]
    found = (name for name in names if (name, request.env_id) in loaded.served)
    plain.library = request.library or next(found, "")
    return plain.SerializeToString(deterministic=True)
