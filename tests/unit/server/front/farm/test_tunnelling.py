"""Bytes are passed on between a connection and a call: all, no faster than they are taken, until one side ends."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from envwire.server._front.farm.tunnelling import PIECE_BYTES, splice

#: More than the buffers of a Unix socket and of its stream hold.
MANY = 64


class Call:
    """A call in memory: gives pieces to read, and takes those that are written while it is open."""

    def __init__(self, pieces: int = 0) -> None:
        self.pieces = [bytes([number]) * PIECE_BYTES for number in range(pieces)]
        self.given = 0
        self.taken = bytearray()
        self.writes = 0
        self.is_read = asyncio.Event()
        self.over = asyncio.Event()

    async def read(self) -> bytes:
        if self.given == len(self.pieces):
            await self.over.wait()
            return b""
        self.given += 1
        return self.pieces[self.given - 1]

    async def write(self, data: bytes) -> None:
        self.writes += 1
        await self.is_read.wait()
        self.taken += data


@asynccontextmanager
async def spliced(call: Call) -> AsyncIterator[tuple[socket.socket, asyncio.Task[None]]]:
    """Yields the other end of a connection that is spliced with a call."""
    near, far = socket.socketpair()
    far.setblocking(False)
    reader, writer = await asyncio.open_unix_connection(sock=near, limit=PIECE_BYTES)
    splicing = asyncio.ensure_future(splice(reader, writer, call.read, call.write))
    with far:
        yield far, splicing
        splicing.cancel()
        await asyncio.wait({splicing})


def run(scene: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(scene(), 60.0))


async def settled(look: Callable[[], int]) -> int:
    """Returns a number once it stays the same."""
    last = -1
    while (now := look()) != last:
        last = now
        await asyncio.sleep(0.1)
    return last


def test_what_the_connection_does_not_take_is_not_read() -> None:
    async def scene() -> None:
        call, loop = Call(MANY), asyncio.get_running_loop()
        async with spliced(call) as (far, _):
            assert await settled(lambda: call.given) < MANY // 4
            received = bytearray()
            while len(received) < MANY * PIECE_BYTES:
                received += await loop.sock_recv(far, PIECE_BYTES)
            assert received == b"".join(call.pieces)

    run(scene)


def test_what_the_call_does_not_take_is_not_read() -> None:
    async def scene() -> None:
        call, loop = Call(), asyncio.get_running_loop()
        async with spliced(call) as (far, _):
            whole = bytes(MANY * PIECE_BYTES)
            sending = asyncio.ensure_future(loop.sock_sendall(far, whole))
            assert await settled(lambda: call.writes) == 1
            assert not sending.done()
            call.is_read.set()
            await sending
            while len(call.taken) < len(whole):
                await asyncio.sleep(0.01)

    run(scene)


def test_when_the_call_ends_the_connection_does() -> None:
    async def scene() -> None:
        call = Call()
        async with spliced(call) as (far, splicing):
            call.over.set()
            await splicing
            assert await asyncio.get_running_loop().sock_recv(far, 1) == b""

    run(scene)


def test_when_the_connection_ends_it_returns() -> None:
    async def scene() -> None:
        async with spliced(Call()) as (far, splicing):
            far.close()
            await splicing

    run(scene)
