"""A process whose client disconnected while it was made leaves nothing behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import uvloop

from envwire.codec import FaultError, Reason
from envwire.server._ipc.frames import FORK
from envwire.server._processes import process as process_module
from envwire.server._processes.forkserver_start import ForkError, Lifelines, OnExit
from envwire.server._processes.process import Process


def files() -> set[str]:
    return {entry.name for entry in Path("/proc/self/fd").iterdir()}


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])
@pytest.mark.parametrize("turns", [0, 1, 2, 3])
def test_a_start_that_is_cancelled_leaves_no_file_open(
    turns: int, loop: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    ends: list[int] = []

    async def fork(descriptors: Sequence[int], _: object) -> int:
        ends.append(os.dup(descriptors[0]))
        return 1

    async def run() -> None:
        before = files()
        starting = asyncio.ensure_future(Process.spawn(fork, 1, 1000))
        for _ in range(turns):
            await asyncio.sleep(0)
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)
        for end in ends:  # the process sees that it is over
            os.set_blocking(end, False)
            assert os.read(end, 1) == b""
            os.close(end)
        for _ in range(3):
            await asyncio.sleep(0)
        assert {each for each in files() - before if not _is_excused(each)} == set()

    running = loop()
    running.run_until_complete(run())
    running.close()


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_a_start_whose_link_is_not_connected_leaves_no_file_open(
    loop: Callable[[], asyncio.AbstractEventLoop], monkeypatch: pytest.MonkeyPatch
) -> None:
    ends: list[int] = []

    async def fork(descriptors: Sequence[int], _: object) -> int:
        ends.append(os.dup(descriptors[0]))
        return 1

    async def fail(*_: object, **__: object) -> None:
        raise OSError("no room to watch it")

    async def run() -> None:
        before = files()
        with pytest.raises(OSError, match="no room") as caught:
            await Process.spawn(fork, 1, 1000)
        os.set_blocking(ends[0], False)
        assert os.read(ends[0], 1) == b""
        os.close(ends[0])
        assert {each for each in files() - before if not _is_excused(each)} == set()
        del caught  # its traceback held the process until here

    running = loop()
    monkeypatch.setattr(running, "create_connection", fail)
    running.run_until_complete(run())
    running.close()


class _Forkserver:
    def __init__(self) -> None:
        self.adopted: list[int] = []
        self.lifelines = Lifelines()

    async def adopt(self, pid: int, on_exit: OnExit) -> None:
        self.adopted.append(pid)

    def copying(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()


async def _copying(
    forkserver: Any = None,
) -> tuple[Process, asyncio.Future[Any], list[int]]:
    """Starts a process and a copy of it; returns both, and the process's own ends."""
    ends: list[int] = []

    async def fork(descriptors: Sequence[int], _: object) -> int:
        ends.extend(map(os.dup, descriptors))
        return 0

    process = await Process.spawn(fork, 1, 1000)
    forkserver = forkserver or _Forkserver()
    copying = asyncio.ensure_future(process.copy(forkserver, [], lambda _: None))
    await asyncio.sleep(0)
    return process, copying, ends


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_a_process_that_dies_while_it_copies_itself_leaves_no_descriptor_watched(
    loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    async def run() -> None:
        process, copying, ends = await _copying()
        for end in ends:
            os.close(end)
        with pytest.raises(ForkError, match="gone"):
            await asyncio.wait_for(copying, 60.0)
        while process.alive:
            await asyncio.sleep(0)
        # The next file has the number of the one that was closed, and is heard of like any other.
        pairs = [socket.socketpair() for _ in range(8)]
        for ours, theirs in pairs:
            ours.setblocking(False)
            theirs.send(b"x")
            received = asyncio.get_running_loop().sock_recv(ours, 1)
            assert await asyncio.wait_for(received, 60.0) == b"x"
            ours.close()
            theirs.close()

    running = loop()
    running.run_until_complete(run())
    running.close()


def test_a_process_without_a_free_descriptor_says_why_it_is_not_copied(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(process_module, "NEWS_SECONDS", 0.0)

    async def run() -> FaultError:
        _, copying, ends = await _copying()
        with socket.socket(fileno=ends[2]) as control_socket:
            # Received without its descriptors, which the kernel closes.
            assert control_socket.recv(len(FORK)) == FORK
            with pytest.raises(FaultError, match="too many files are open") as refused:
                await asyncio.wait_for(copying, 60.0)
        for end in (*ends[:2], ends[3]):
            os.close(end)
        return refused.value

    assert asyncio.run(run()).reason is Reason.UNSUPPORTED


@pytest.mark.parametrize(
    "answer",
    [
        *(b"no json", b"[" * 3000, b"\xff", b"7", b"null", b"[1]", b"{}"),
        *(b'{"pid": 1.5}', b'{"pid": "1"}', b'{"pid": null}', b'{"failed": 7}'),
    ],
)
def test_what_a_process_says_of_its_copy_is_not_trusted(answer: bytes) -> None:
    async def run() -> None:
        forkserver = _Forkserver()
        process, copying, ends = await _copying(forkserver)
        with socket.socket(fileno=ends[2]) as control_socket:
            _, descriptors, _, _ = socket.recv_fds(control_socket, len(FORK), 2)
            with socket.socket(fileno=descriptors[0]) as answers:
                answers.send(answer)
            with pytest.raises(ForkError, match="sent an answer"):
                await asyncio.wait_for(copying, 60.0)
        assert forkserver.adopted == []
        assert not process.alive, "it was killed"
        for end in (*ends[:2], ends[3], *descriptors[1:]):
            os.close(end)

    asyncio.run(run())


def _is_excused(descriptor: str) -> bool:
    """Tells of what may stay: the pipe of the output, read until the death is told, and the spare file of uvloop."""
    try:
        name = Path(f"/proc/self/fd/{descriptor}").readlink().name
    except FileNotFoundError:
        return True  # the directory that was listed
    return name.startswith("pipe:") or name == "null"
