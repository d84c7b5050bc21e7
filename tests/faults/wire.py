"""A faulty wire: a TCP proxy that resets, half-closes, drops, delays and refuses on command.

It listens on another address of this machine, on two ports: that of gRPC, and that of the direct channel.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import secrets
import socket
import struct
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from typing_extensions import Self

_T = TypeVar("_T")
FRONT, BACK = "127.0.0.2", "127.0.0.1"
_RESET = struct.pack("ii", 1, 0)


class _End(asyncio.Protocol):
    """One end of a connection: what arrives here leaves at the other end.

    `port` is where the other end has to be opened; 0 when it is there.
    """

    def __init__(self, wire: Wire, port: int, other: _End | None = None) -> None:
        self._wire = wire
        self._port = port
        self.other = other
        self.transport: asyncio.Transport | None = None
        #: What arrived before the other end was there: some versions of Python read on although they are told to pause.
        self.early = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        sock: socket.socket = transport.get_extra_info("socket")
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._port:
            self.transport.pause_reading()
            self._wire.join(self, self._port)

    def data_received(self, data: bytes) -> None:
        self._wire.pass_on(self, data)

    def write(self, data: bytes) -> None:
        if self.transport is not None and not self.transport.is_closing():
            self.transport.write(data)

    def pause_writing(self) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.pause_reading()

    def resume_writing(self) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self._wire.forget(self)
        if self.other is not None and self.other.transport is not None:
            self.other.transport.close()

    def reset(self) -> None:
        """Ends this end at once, with a reset instead of a farewell."""
        if self.transport is not None:
            sock: socket.socket = self.transport.get_extra_info("socket")
            with contextlib.suppress(OSError):
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            self.transport.abort()


def _listen() -> socket.socket:
    """Listens on a port that the server can bind on its own address, outside the range of ephemeral ports."""
    while True:
        port = secrets.choice(range(20_000, 32_000))
        with contextlib.suppress(OSError), socket.create_server((BACK, port)):
            return socket.create_server((FRONT, port))


class Wire:
    """The proxy, in its own thread. Its methods may be called from any thread.

    Args:
        seed: Of what is random about it.

    Attributes:
        ports: Of gRPC and of the direct channel: of this proxy, and of the server behind it.
        delay: Seconds by which whatever passes is late.
        connections: How many were opened through it.
    """

    def __init__(self, seed: int = 0) -> None:
        self._random = random.Random(seed)
        self._listeners = [_listen() for _ in range(2)]
        self.ports = tuple(int(each.getsockname()[1]) for each in self._listeners)
        self.delay = 0.0
        self.connections = 0
        self._swallowing: set[_End] = set()
        self._ends: list[_End] = []
        self._joining: set[asyncio.Future[None]] = set()
        self._refusing = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of the server behind it."""
        return {
            "port": self.ports[0],
            "direct_port": self.ports[1],
            "advertise": self.target,
        }

    @property
    def target(self) -> str:
        """Where clients connect."""
        return f"{FRONT}:{self.ports[0]}"

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self) -> None:
        self._over = asyncio.Event()
        servers = [
            await self._loop.create_server(partial(_End, self, port), sock=listener)
            for port, listener in zip(self.ports, self._listeners, strict=True)
        ]
        await self._over.wait()
        for server in servers:
            server.close()
        for end in list(self._ends):
            end.reset()
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    def join(self, outer: _End, port: int) -> None:
        """Opens the other end of a connection."""
        if self._refusing:
            outer.reset()
            return
        self.connections += 1
        self._ends.append(outer)
        joining = asyncio.ensure_future(self._connect(outer, port))
        self._joining.add(joining)
        joining.add_done_callback(self._joining.discard)

    async def _connect(self, outer: _End, port: int) -> None:
        try:
            _, inner = await self._loop.create_connection(lambda: _End(self, 0, outer), BACK, port)
        except OSError:
            outer.reset()
            return
        outer.other = inner
        self._ends.append(inner)
        if outer.transport is None or outer.transport.is_closing():
            inner.reset()
        else:
            self.pass_on(outer, outer.early)
            outer.transport.resume_reading()

    def pass_on(self, end: _End, data: bytes) -> None:
        """Lets what arrived at an end leave at the other; later, or never."""
        if end in self._swallowing:
            return
        if end.other is None:
            end.early += data
            return
        if self.delay:
            self._loop.call_later(self.delay, end.other.write, data)
        else:
            end.other.write(data)

    def forget(self, end: _End) -> None:
        """Notes that an end is no more."""
        self._swallowing.discard(end)
        if end in self._ends:
            self._ends.remove(end)

    def _do(self, act: Callable[[], _T]) -> _T:
        async def now() -> _T:
            return act()

        return asyncio.run_coroutine_threadsafe(now(), self._loop).result(10.0)

    def cut(self) -> int:
        """Resets all connections, at both ends; returns how many ends there were."""

        def act() -> int:
            ends = list(self._ends)
            for end in ends:
                end.reset()
            return len(ends)

        return self._do(act)

    def cut_one(self) -> bool:
        """Resets one connection, chosen at random; returns whether there was one."""

        def act() -> bool:
            if not self._ends:
                return False
            end = self._random.choice(self._ends)
            for each in (end, end.other):
                if each is not None:
                    each.reset()
            return True

        return self._do(act)

    def half_close(self) -> None:
        """Says a farewell to both sides, without waiting for theirs."""

        def act() -> None:
            for end in self._ends:
                if end.transport is not None and end.transport.can_write_eof():
                    end.transport.write_eof()

        self._do(act)

    def swallow(self) -> None:
        """Silently drops all data on the open connections."""
        self._do(lambda: self._swallowing.update(self._ends))

    @contextmanager
    def refusing(self) -> Generator[None]:
        """Resets all open connections, and those that are opened meanwhile."""
        self._refusing = True
        try:
            self.cut()
            yield
        finally:
            self._refusing = False

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(10.0)
