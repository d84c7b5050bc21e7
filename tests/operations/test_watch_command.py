"""`envwire watch`: a running environment in the terminal."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from envwire.client import RemoteEnv
from envwire.observe.v1 import observe_pb2 as pb
from envwire.server import Server
from tests.commands import envwire, start
from tests.operations.watching import next_round, watching

#: Two pixels of a picture: colours of the upper and the lower one.
CELL = re.compile(r"\x1b\[38;2;\d+;\d+;\d+;48;2;\d+;\d+;\d+m\N{UPPER HALF BLOCK}")


class Terminal:
    """A command in a terminal of 40 columns and 12 lines."""

    def __init__(self, *arguments: str) -> None:
        self._screen, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 12, 40, 0, 0))
        env = {
            name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")
        }
        self._process = start(
            *arguments, stdin=theirs, stdout=theirs, stderr=subprocess.PIPE, env=env
        )
        os.close(theirs)

    def read(self, status: int = 0) -> list[str]:
        """Returns the lines that it shows until it ends, and behind them its errors."""
        shown = b""
        with contextlib.suppress(OSError):  # the other end is closed
            while more := os.read(self._screen, 65536):
                shown += more
        os.close(self._screen)
        _, told = self._process.communicate(timeout=60)
        assert self._process.returncode == status, told
        assert told is not None
        return [*shown.decode().splitlines(), *told.splitlines()]


def refused(*arguments: str) -> str:
    """Returns the line in which a command says why it does nothing."""
    (line,) = Terminal(*arguments).read(1)
    return line


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server(["CartPole-v1", "FrozenLake-v1"], frames=True) as running:
        yield running


@contextmanager
def stepping(env: RemoteEnv) -> Iterator[None]:
    """Steps an environment in a thread of its own."""
    over = threading.Event()

    def step() -> None:
        env.reset(seed=1)
        while not over.wait(0.01):
            _, _, terminated, truncated, _ = env.step(env.action_space.sample())
            if terminated or truncated:
                env.reset()

    thread = threading.Thread(target=step)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(60)


def test_the_youngest_that_can_be_watched_is_shown(server: Server) -> None:
    older = RemoteEnv(server.target, "FrozenLake-v1", render_mode="rgb_array")
    env = RemoteEnv(server.target, "CartPole-v1", render_mode="rgb_array")
    unseen = RemoteEnv(server.target, "CartPole-v1")
    with older, env, unseen, stepping(env):
        title, *lines = Terminal("watch", server.target, "--frames", "2").read()
    assert title.startswith("CartPole-v1  address of this machine  session ")
    assert {len(CELL.findall(line)) for line in lines} == {30}  # 10 lines for 320 x 214 pixels
    assert len(lines) == 20


def test_a_session_is_chosen_by_the_beginning_of_its_id(server: Server) -> None:
    older = RemoteEnv(server.target, "FrozenLake-v1", render_mode="rgb_array")
    with older, stepping(older), RemoteEnv(server.target, "CartPole-v1", render_mode="rgb_array"):
        listed = envwire("sessions", server.target).stdout.splitlines()
        (row,) = [line for line in listed if "FrozenLake" in line]
        shown = Terminal("watch", server.target, row.split("\t")[0][:8], "--frames", "1").read()
    assert shown[0].startswith("FrozenLake-v1")


def await_picture(target: str, session_id: str) -> None:
    """Waits until a picture of a session was watched."""
    deadline = time.monotonic() + 60
    request = pb.DescribeSessionRequest(session_id=session_id)
    while True:
        with watching(target, "DescribeSession", request) as answer:
            if answer.HasField("last_frame"):
                return
        assert time.monotonic() < deadline


def test_it_ends_with_the_session_and_says_why(server: Server) -> None:
    env = RemoteEnv(server.target, "CartPole-v1", render_mode="rgb_array")
    env.reset(seed=1)
    with watching(server.target, "Watch", pb.WatchRequest()) as answers:
        (session,) = next_round(answers).sessions
    terminal = Terminal("watch", server.target)
    await_picture(server.target, session.session_id)
    env.close()
    assert "was closed" in terminal.read(1)[-1]


def test_an_environment_that_was_not_reset_has_no_picture_yet(server: Server) -> None:
    with RemoteEnv(server.target, "CartPole-v1", render_mode="rgb_array"):
        _, why = Terminal("watch", server.target, "--frames", "2").read()
    assert "reset" in why


def test_a_pipe_gets_no_pictures(server: Server) -> None:
    told = envwire("watch", server.target)
    assert (told.returncode, told.stdout) == (1, "")
    assert "standard output is not one" in told.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), 'make one with render_mode="rgb_array"'),
        (("x",), "no session of yours begins with 'x'"),
    ],
)
def test_why_there_is_nothing_to_see(server: Server, arguments: tuple[str, ...], says: str) -> None:
    with RemoteEnv(server.target, "CartPole-v1"):
        assert says in refused("watch", server.target, *arguments)


def test_an_operator_who_allows_no_pictures_is_named() -> None:
    with Server(["CartPole-v1"]) as other:
        assert "its operator allows them with --frames" in refused("watch", other.target)
