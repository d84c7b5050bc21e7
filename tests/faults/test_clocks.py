"""The clock on the wall may jump: only monotonic time is asked for, and leases follow it, however it passes."""

from __future__ import annotations

import ast
import asyncio
import os
import re
import socket
from pathlib import Path
from typing import Any, cast

import pytest

import envwire
from envwire.codec import FaultError, Reason
from envwire.server._front.sessions.life import LifeEvent
from envwire.server._front.sessions.record import SessionRecord
from envwire.server._front.sessions.table import Sessions
from envwire.server._ipc.frames import ChannelUse
from envwire.server._ipc.scoreboard import Counters
from envwire.server._processes.link import SessionLink
from envwire.server._processes.process import Process
from envwire.server._processes.resources import ProcessorTime

#: Calls that read the clock on the wall.
_WALL = {("time", "time"), ("time", "time_ns"), ("datetime", "now"), ("datetime", "utcnow")}
_MAY_CALL = re.compile(rf"\.({'|'.join(name for _, name in _WALL)})\b")
#: Certificates are valid from a date to a date; files are as old as their dates.
_DATED = {"certificates.py", "folder.py"}


def _wall_clock_calls(path: Path) -> list[str]:
    calls: list[str] = []
    text = path.read_text()
    if not _MAY_CALL.search(text):  # which most need no parsing to tell
        return calls
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name | ast.Attribute):
            owner = node.value.id if isinstance(node.value, ast.Name) else node.value.attr
            if (owner, node.attr) in _WALL:
                calls.append(f"{path.name}:{node.lineno}")
    return calls


@pytest.mark.parametrize("root", list(envwire.__path__))
def test_only_monotonic_clocks_are_read(root: str) -> None:
    paths = sorted(Path(root).rglob("*.py"))
    assert paths
    found = [call for path in paths if path.name not in _DATED for call in _wall_clock_calls(path)]
    assert not found, "a wall clock jumps; take time.monotonic"


class _Board:
    """A scoreboard that only the test changes."""

    def __init__(self) -> None:
        self.count = 0

    def served(self, _: int) -> int:
        return self.count

    def busy_for(self, _: int) -> float:
        return 0.0

    def counters(self, _: int) -> Counters:
        return Counters(**dict.fromkeys(Counters._fields, 0))


class _Process:
    """A process that accepts messages and sends none."""

    def __init__(self) -> None:
        self.scoreboard = _Board()
        self.asked: list[bytes] = []
        self.killed = False
        self.busy_elsewhere = False
        self.pid = os.getpid()
        self.processor_time = ProcessorTime(self.pid)
        self.shared = True
        self.output = self

    def text(self) -> str:
        return "last words"

    def open(self, session: SessionRecord) -> SessionLink:
        return SessionLink(1, 0, session, lambda _, __, message: self.asked.append(message))

    def admit(self, *_: socket.socket) -> None:
        """Takes a connection."""

    def end(self, _: SessionLink) -> None:
        """Lets a session go."""

    def busy_with_others(self, _: SessionLink) -> bool:
        return self.busy_elsewhere

    def kill(self) -> None:
        self.killed = True


class Scene:
    """One session at a time of our choosing."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.sessions = Sessions(1, lambda: self.now, "test")
        self.process = _Process()
        process = cast("Process", self.process)
        self.clients: list[socket.socket] = []
        self.session = SessionRecord(
            10.0, lambda: self.now, 5.0, self.sessions.end, process, self.sessions.new_id()
        )
        self.sessions.reserve()
        self.sessions.add(self.session)

    async def connect(self) -> None:
        """Lets the client open a direct channel."""
        connection, client = socket.socketpair()
        with connection:
            await self.session.admit(connection, connection, ChannelUse())
        self.clients.append(client)

    def hang_up(self) -> None:
        """Lets the client end all its channels."""
        while self.clients:
            self.clients.pop().close()

    def pass_time(self, seconds: float, *, asleep: bool = False) -> FaultError | None:
        """Lets time pass, for the front as well if it is asleep; returns the fate of the session."""
        self.now += seconds
        self.sessions.discount_stall(seconds if asleep else 0.1)
        self.sessions.sweep()
        return self.session.end_reason


def run(scene: Any) -> None:
    async def main() -> None:
        played = Scene()
        try:
            await asyncio.wait_for(scene(played), 60.0)
        finally:
            played.hang_up()
            played.session.end(LifeEvent.CLOSE)

    asyncio.run(main())


def reason(end_reason: FaultError | None) -> Reason | None:
    return None if end_reason is None else end_reason.reason


def test_a_lease_ends_when_nobody_cares() -> None:
    async def play(scene: Scene) -> None:
        assert scene.pass_time(9.0) is None
        assert reason(scene.pass_time(1.5)) is Reason.SESSION_EXPIRED

    run(play)


def test_a_time_in_which_the_front_stood_still_does_not_count() -> None:
    async def play(scene: Scene) -> None:
        assert scene.pass_time(3600.0, asleep=True) is None
        assert scene.pass_time(9.0) is None
        assert reason(scene.pass_time(1.5)) is Reason.SESSION_EXPIRED

    run(play)


def test_a_reply_that_waits_while_the_front_stands_still_is_not_late() -> None:
    async def play(scene: Scene) -> None:
        asking = asyncio.ensure_future(scene.session.ask(b"step"))
        await asyncio.sleep(0)
        assert scene.pass_time(3600.0, asleep=True) is None
        assert reason(scene.pass_time(5.5)) is Reason.STEP_TIMEOUT
        assert scene.process.killed
        asking.cancel()

    run(play)


def test_an_open_channel_keeps_a_session_that_shows_signs_of_life() -> None:
    async def play(scene: Scene) -> None:
        await scene.connect()
        for _ in range(20):
            scene.process.scoreboard.count += 1
            assert scene.pass_time(4.0) is None
        assert not scene.process.asked

    run(play)


def test_a_process_keeps_no_session_whose_client_has_left() -> None:
    async def play(scene: Scene) -> None:
        await scene.connect()
        assert scene.pass_time(4.0) is None
        scene.hang_up()
        for _ in range(3):
            scene.process.scoreboard.count += 1
            assert scene.pass_time(3.0) is None
        scene.process.scoreboard.count += 1
        assert reason(scene.pass_time(1.5)) is Reason.SESSION_EXPIRED

    run(play)


def test_the_last_channel_is_the_clients_whatever_becomes_of_those_before() -> None:
    async def play(scene: Scene) -> None:
        await scene.connect()
        await scene.connect()
        scene.clients.pop(0).close()
        for _ in range(5):
            scene.process.scoreboard.count += 1
            assert scene.pass_time(4.0) is None

    run(play)


def test_a_silent_process_behind_an_open_channel_is_asked_and_ended() -> None:
    async def play(scene: Scene) -> None:
        await scene.connect()
        assert scene.pass_time(5.5) is None
        assert len(scene.process.asked) == 1, "it is asked for a sign of life"
        assert scene.pass_time(4.5) is None, "it has as long as a step; no reader keeps it"
        assert len(scene.process.asked) == 1
        assert reason(scene.pass_time(1.0)) is Reason.STEP_TIMEOUT
        assert scene.process.killed

    run(play)


def test_an_idle_process_that_answers_lives_on() -> None:
    async def play(scene: Scene) -> None:
        await scene.connect()
        for times in range(1, 50):
            assert scene.pass_time(5.5) is None
            assert len(scene.process.asked) == times
            scene.session.on_reply()
            assert scene.pass_time(1.0) is None

    run(play)


def test_a_process_that_does_not_read_is_asked_soon_and_ended_in_time() -> None:
    async def play(scene: Scene) -> None:
        await scene.connect()
        assert scene.pass_time(1.0) is None
        scene.clients[0].send(b"a step")
        for _ in range(8):
            assert scene.pass_time(0.1) is None
        assert len(scene.process.asked) == 1
        assert scene.pass_time(4.5) is None
        assert reason(scene.pass_time(0.6)) is Reason.STEP_TIMEOUT

    run(play)


def test_a_process_that_answers_may_leave_a_client_unread() -> None:
    """It waits for the client, which does not read its replies."""

    async def play(scene: Scene) -> None:
        await scene.connect()
        scene.clients[0].send(b"a step")
        for _ in range(100):
            assert scene.pass_time(0.3) is None
            if scene.session.liveness.busy_since is not None:
                scene.session.on_reply()
        assert 20 < len(scene.process.asked) < 60

    run(play)


def test_a_request_does_not_age_while_the_process_serves_others() -> None:
    async def play(scene: Scene) -> None:
        asking = asyncio.ensure_future(scene.session.ask(b"step"))
        await asyncio.sleep(0)
        scene.process.busy_elsewhere = True
        for _ in range(10):
            assert scene.pass_time(4.0) is None
        scene.process.busy_elsewhere = False
        assert scene.pass_time(4.0) is None
        assert reason(scene.pass_time(1.5)) is Reason.STEP_TIMEOUT
        asking.cancel()

    run(play)
