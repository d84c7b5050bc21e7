"""Clients whose interpreter cannot run for longer than the lease: held by C code, or stopped with its process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from envwire.server import Server
from tests.faults.scene import TRANSPORTS, active, eventually, kill_sessions
from tests.tiers import first

LEASE = 1.0
#: Steps after each line of its input, holding the interpreter before it for as long as the line says.
CLIENT = """
import ctypes, sys, time
from envwire.client import RemoteEnv

env = RemoteEnv(sys.argv[1], "CartPole-v1", transport=sys.argv[2], lease=float(sys.argv[3]))
env.reset(seed=1)
time.sleep(0.5)  # its keeper wakes every 0.2 s
for line in sys.stdin:
    if line.strip():
        ctypes.PyDLL(None).usleep(int(line))  # unlike a CDLL, this keeps the interpreter's lock
    begun = time.monotonic()
    try:
        env.step(0)
        print("stepped", flush=True)
    except Exception as error:
        print(type(error).__name__, time.monotonic() - begun < 30.0, flush=True)
print("done", flush=True)
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server(["CartPole-v1"]) as server:
        yield server


class Client:
    """A client in a process of its own."""

    def __init__(self, target: str, transport: str) -> None:
        command = [sys.executable, "-c", CLIENT, target, transport, str(LEASE)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.ask()

    def ask(self, held: float = 0.0) -> str:
        """Has it hold its interpreter for so many seconds, then step; returns what came of the step."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{int(held * 1e6) or ''}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def end(self) -> None:
        self.process.send_signal(signal.SIGCONT)
        self.process.communicate()


@pytest.mark.parametrize("transport", first(TRANSPORTS))
def test_a_held_interpreter_keeps_its_session(server: Server, transport: str) -> None:
    client = Client(server.target, transport)
    assert client.ask(held=4 * LEASE) == "stepped"
    client.end()
    assert eventually(lambda: active(server.target) == 0)


def test_a_killed_unary_client_still_frees_its_slot(server: Server) -> None:
    client = Client(server.target, "unary")
    client.process.kill()
    client.process.communicate()
    assert eventually(lambda: active(server.target) == 0, 20 * LEASE)


@pytest.mark.parametrize("transport", first(TRANSPORTS))
def test_a_stopped_client_learns_at_once_that_its_session_is_lost(
    server: Server, transport: str
) -> None:
    client = Client(server.target, transport)
    os.kill(client.process.pid, signal.SIGSTOP)
    kill_sessions(server)
    assert eventually(lambda: active(server.target) == 0)
    os.kill(client.process.pid, signal.SIGCONT)
    assert client.ask() == "SessionLostError True"
    client.end()
