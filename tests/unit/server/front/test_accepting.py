"""Which connections make room for new ones."""

from __future__ import annotations

import asyncio
import socket

import pytest

from envwire.server._front.hello_frames import discard
from envwire.server._front.ports import Bounds, Newcomers, dial


def left_after(arrivals: str, bounds: Bounds, identified: str = "") -> str:
    """Returns the peers whose connections are open after all have arrived, the oldest first."""

    async def play() -> str:
        newcomers, loop = Newcomers(bounds), asyncio.get_running_loop()
        pairs = {socket.socketpair(): peer for peer in arrivals}

        async def serve(connection: socket.socket, peer: str) -> None:
            if peer in identified:
                task = asyncio.current_task()
                assert task is not None
                newcomers.discard(task)
            with connection:
                await loop.sock_recv(connection, 1)

        for (ours, theirs), peer in pairs.items():
            ours.setblocking(False)
            theirs.setblocking(False)
            newcomers.start(peer, ours, serve(ours, peer))
            await asyncio.sleep(0)
        left = "".join(peer for (_, theirs), peer in pairs.items() if not ended(theirs))
        for _, theirs in pairs:
            theirs.close()
        while len(asyncio.all_tasks()) > 1:
            await asyncio.sleep(0)
        return left

    return asyncio.run(play())


def ended(connection: socket.socket) -> bool:
    try:
        return not connection.recv(1)
    except BlockingIOError:
        return False


def test_a_peer_with_its_fill_gives_up_its_own_oldest() -> None:
    assert left_after("abbb", Bounds(9, 2)) == "abb"


def test_when_all_is_full_the_peer_with_most_gives_up_its_oldest() -> None:
    assert left_after("abbc", Bounds(3, 3)) == "abc"
    assert left_after("abbcd", Bounds(3, 3)) == "bcd"


def test_who_is_identified_counts_no_more() -> None:
    assert left_after("aaab", Bounds(1, 1), identified="a") == "aaab"


def test_a_connection_that_ended_makes_room_for_another() -> None:
    async def play() -> None:
        newcomers, loop = Newcomers(Bounds(10, 2)), asyncio.get_running_loop()
        pairs = [socket.socketpair() for _ in range(3)]

        async def serve(connection: socket.socket) -> None:
            connection.setblocking(False)
            with connection:
                await loop.sock_recv(connection, 1)

        for index, (ours, theirs) in enumerate(pairs):
            newcomers.start("a", ours, serve(ours))
            if index == 1:
                theirs.close()
                while ours.fileno() >= 0:
                    await asyncio.sleep(0)
            await asyncio.sleep(0)
        oldest = pairs[0][1]
        oldest.setblocking(False)
        with pytest.raises(BlockingIOError):  # it is open
            oldest.recv(1)
        newcomers.cancel()
        oldest.close()
        pairs[2][1].close()

    asyncio.run(play())


def test_what_a_client_still_sends_is_discarded_until_it_ends() -> None:
    async def play() -> None:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        with ours:
            with theirs:
                theirs.sendall(bytes(1000))
                await discard(ours, 400, 60.0)
                theirs.sendall(bytes(1000))
            await discard(ours, 10**6, 60.0)
            assert not ours.recv(1)

    asyncio.run(play())


def test_a_connection_does_not_block_the_loop_that_opened_it() -> None:
    async def play() -> None:
        with (
            socket.create_server(("127.0.0.1", 0)) as listener,
            await dial(*listener.getsockname()) as connection,
        ):
            assert not connection.getblocking()

    asyncio.run(play())


def test_who_no_longer_waits_for_a_connection_is_not_told_of_another_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def play() -> None:
        hanging = asyncio.Event()

        async def hang(*_: object) -> None:
            hanging.set()
            await asyncio.Event().wait()

        monkeypatch.setattr(asyncio.get_running_loop(), "sock_connect", hang)
        dialing = asyncio.ensure_future(dial("127.0.0.1", 1))
        await hanging.wait()
        dialing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await dialing

    asyncio.run(play())
