"""A fork server that was killed or stopped is replaced, and the Make that found out goes on."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from envwire.server._ipc.frames import FrameError
from envwire.server._ipc.orphans import children
from envwire.server._processes import forkserver_link as module
from envwire.server._processes.environments import ForkedAhead, Placement
from envwire.server._processes.forkserver_link import ForkserverLink
from envwire.server._processes.forkserver_start import (
    START_SECONDS,
    ForkError,
    ForkserverLostError,
    ForkserverProcess,
    Loaded,
)
from envwire.server._processes.process import Fork, Process
from envwire.server.config import ServerConfig
from tests.faults.scene import alive, parent_of
from tests.tiers import first

CONFIG = ServerConfig(("CartPole-v1",))
#: For what other processes do.
SECONDS = 60.0


class Recorded(Placement):
    """Makes processes, and knows them all."""

    def __init__(self, forkserver: ForkserverLink) -> None:
        super().__init__(CONFIG, forkserver.fork)
        self.made: list[Process] = []

    async def start(self, fork: Fork, slots: int = 1) -> Process:
        """Notes the process."""
        self.made.append(await super().start(fork, slots))
        return self.made[-1]


def with_forkserver(use: Callable[[ForkserverLink, Recorded, int], Awaitable[None]]) -> None:
    """Runs a test with a fork server, where to make processes, and the number of the fork server."""

    async def run() -> None:
        forkserver = ForkserverLink(CONFIG)
        placement = Recorded(forkserver)
        try:
            await forkserver.start()
            first = await placement.find("alice")
            await asyncio.wait_for(use(forkserver, placement, parent_of(first.pid)), SECONDS)
        finally:
            await forkserver.stop()
            await asyncio.gather(*(process.wait_lost() for process in placement.made))

    asyncio.run(run())


def another(process: Process, pid: int) -> bool:
    """Returns whether a process lives and is another fork server's."""
    return alive(process.pid) and parent_of(process.pid) != pid


def forked_by(pid: int) -> set[int]:
    """Returns the children of a fork server."""
    return set(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))


def test_a_make_goes_on_when_the_forkserver_is_killed_under_it() -> None:
    async def use(_: ForkserverLink, placement: Recorded, pid: int) -> None:
        os.kill(pid, signal.SIGSTOP)  # it takes the request and does not answer
        making = asyncio.ensure_future(placement.find("alice"))
        for _turn in range(5):
            await asyncio.sleep(0)
        os.kill(pid, signal.SIGKILL)
        assert another(await making, pid)

    with_forkserver(use)


def test_a_stopped_forkserver_is_killed_and_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    async def use(_: ForkserverLink, placement: Recorded, pid: int) -> None:
        monkeypatch.setattr(module, "_FORK_SECONDS", 0.5)
        os.kill(pid, signal.SIGSTOP)
        making = asyncio.ensure_future(placement.find("alice"))
        for _turn in range(5):
            await asyncio.sleep(0)
        monkeypatch.setattr(module, "_FORK_SECONDS", SECONDS)  # the next one has its time
        assert another(await making, pid)
        assert not alive(pid)

    with_forkserver(use)


def test_a_stopped_forkserver_is_noticed_though_nobody_waits_for_so_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def use(_: ForkserverLink, placement: Recorded, pid: int) -> None:
        monkeypatch.setattr(module, "_FORK_SECONDS", 0.5)
        os.kill(pid, signal.SIGSTOP)
        making = asyncio.ensure_future(placement.find("alice"))
        for _turn in range(5):
            await asyncio.sleep(0)
        making.cancel()
        while alive(pid):
            await asyncio.sleep(0.01)

    with_forkserver(use)


@pytest.mark.parametrize("noticed", first([True, False]))
def test_a_forkserver_that_is_stopped_while_it_starts_is_killed_and_replaced(
    monkeypatch: pytest.MonkeyPatch, noticed: bool
) -> None:
    load, stopped = ForkserverProcess.load, list[ForkserverProcess]()

    async def stop(process: ForkserverProcess, config: ServerConfig, seconds: float) -> Loaded:
        if stopped:
            return await load(process, config, seconds)
        assert seconds < START_SECONDS  # Makes wait for it
        stopped.append(process)
        os.kill(process._process.pid, signal.SIGSTOP)
        return await load(process, config, 0.1)

    async def use(forkserver: ForkserverLink, placement: Recorded, pid: int) -> None:
        monkeypatch.setattr(ForkserverProcess, "load", stop)
        os.kill(pid, signal.SIGKILL)
        while alive(pid):
            time.sleep(0.01)  # the event loop hears nothing yet
        while noticed and forkserver._process is not None:
            await asyncio.sleep(0.01)
        assert another(await placement.find("alice"), pid)
        assert stopped

    with_forkserver(use)


def test_a_fork_is_not_asked_for_twice_with_the_same_descriptors() -> None:
    """The first fork server may have forked before it died: two processes would answer on one link."""

    async def use(forkserver: ForkserverLink, placement: Recorded, _: int) -> None:
        asked: list[tuple[int, ...]] = []

        async def fork(descriptors: tuple[int, ...], on_exit: Callable[[int], None]) -> int:
            asked.append(tuple(os.fstat(each).st_ino for each in descriptors))
            if len(asked) == 1:
                raise ForkserverLostError
            return await forkserver.fork(descriptors, on_exit)

        process = await placement.start(fork)  # type: ignore[arg-type]
        assert alive(process.pid)
        first, second = asked
        assert not set(first) & set(second)

    with_forkserver(use)


def test_a_client_that_gives_up_does_not_keep_another_forkserver_from_starting() -> None:
    async def use(_: ForkserverLink, placement: Recorded, pid: int) -> None:
        os.kill(pid, signal.SIGKILL)
        while alive(pid):
            await asyncio.sleep(0.01)
        before = children()
        for _turn in range(20):
            making = asyncio.ensure_future(placement.find("alice"))
            await asyncio.wait({making}, timeout=0.05)
            making.cancel()
        assert len(set(filter(alive, children() - before))) == 1
        assert another(await placement.find("alice"), pid)

    with_forkserver(use)


def test_a_session_cannot_pass_off_another_process_as_its_copy() -> None:
    """The front kills its sessions' processes, so it adopts no other."""

    async def use(forkserver: ForkserverLink, placement: Recorded, _: int) -> None:
        (session,) = placement.made
        other = subprocess.Popen(["sleep", "600"])
        try:
            for pid in (session.pid, other.pid, os.getppid()):
                with pytest.raises(FrameError, match=f"process {pid} "):
                    await forkserver.adopt(pid, lambda _: None)
            for pid in (-1, 0, 1, 2**40):
                with pytest.raises(ForkError, match="gone"):
                    await forkserver.adopt(pid, lambda _: None)
        finally:
            other.kill()
            other.wait()

    with_forkserver(use)


def test_a_session_cannot_pass_off_a_process_that_the_front_has_not_heard_of_yet() -> None:
    async def use(forkserver: ForkserverLink, placement: Recorded, pid: int) -> None:
        known = forked_by(pid)
        making = asyncio.ensure_future(placement.find("bob"))
        await asyncio.sleep(0)
        while not (new := forked_by(pid) - known):
            time.sleep(0.01)  # the event loop hears nothing yet
        with pytest.raises(FrameError, match="its copy, which it is not"):
            await forkserver.adopt(new.pop(), lambda _: None)
        assert alive((await making).pid)

    with_forkserver(use)


class Ahead(Recorded):
    """Forks a process ahead of a Make."""

    def __init__(self, forkserver: ForkserverLink, seconds: float = SECONDS) -> None:
        super().__init__(forkserver)
        self._ahead = ForkedAhead(
            lambda: self.start(forkserver.fork), forkserver.is_current, seconds
        )

    async def forked(self) -> Process:
        """Returns the process that waits for the next Make, once it is there."""
        before = len(self.made)
        self.fork_ahead()
        while len(self.made) == before:
            await asyncio.sleep(0.01)
        return self.made[-1]


def test_a_make_takes_the_process_that_was_forked_ahead() -> None:
    async def use(forkserver: ForkserverLink, _: Recorded, __: int) -> None:
        placement = Ahead(forkserver)
        waiting = await placement.forked()
        for _turn in range(3):
            placement.fork_ahead()
        assert await placement.find("alice") is waiting
        other = await placement.find("alice")
        assert other is not waiting
        assert alive(other.pid)
        assert len(placement.made) == 2

    with_forkserver(use)


@pytest.mark.parametrize("lost", ["killed", "too late", "closed", "given up"])
def test_a_process_that_was_forked_ahead_is_not_left_over(lost: str) -> None:
    async def use(forkserver: ForkserverLink, _: Recorded, __: int) -> None:
        placement = Ahead(forkserver, 0.1 if lost == "too late" else SECONDS)
        waiting = await placement.forked()
        if lost == "killed":
            os.kill(waiting.pid, signal.SIGKILL)
        elif lost == "closed":
            placement.close()
        elif lost == "given up":
            making = asyncio.ensure_future(placement.find("alice"))
            await asyncio.sleep(0)
            making.cancel()
        await waiting.wait_lost()
        assert not alive(waiting.pid)
        assert alive((await placement.find("alice")).pid)

    with_forkserver(use)


@pytest.mark.parametrize("change", ["another fork server", "reloaded", "other rules", "hangs"])
def test_a_process_that_would_be_forked_otherwise_now_is_not_used(
    change: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def use(forkserver: ForkserverLink, _: Recorded, pid: int) -> None:
        placement = Ahead(forkserver)
        waiting = await placement.forked()
        if change == "another fork server":
            os.kill(pid, signal.SIGKILL)
        elif change == "reloaded":
            await forkserver.reload()
        elif change == "hangs":
            monkeypatch.setattr(module, "_FORK_SECONDS", 0.5)
            os.kill(pid, signal.SIGSTOP)
        else:
            subprocess.run(["mount", "-t", "tmpfs", "none", tmp_path], check=True)
        try:
            made = await placement.find("alice")
        finally:
            if change == "other rules":
                subprocess.run(["umount", tmp_path], check=True)
        assert made is not waiting
        assert alive(made.pid)
        await waiting.wait_lost()

    if change == "other rules" and os.geteuid():
        pytest.skip("only root mounts")
    with_forkserver(use)
