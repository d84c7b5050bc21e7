"""Which connections make room for new ones."""

from __future__ import annotations

import asyncio
import socket

from envwire.server._front.ports import Bounds, Newcomers


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
