"""Processes that die, hang, print and are killed: real ones. What happens to one session never touches another."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from envwire.client import (
    CapacityError,
    RemoteEnv,
    RequestTimeoutError,
    ServerUnavailableError,
    SessionClosedError,
    SessionLostError,
    StepTimeoutError,
)
from envwire.client._transports.by_name import open_transport
from envwire.client._transports.transport import call
from envwire.server import Server
from envwire.v1 import environment_pb2 as pb
from tests.faults.scene import alive, eventually
from tests.hosted_envs import Fault
from tests.tiers import first

ROOT = str(Path(__file__).parent.parent.parent)
FAULTY = "tests/Faulty-v0"


def start(**settings: Any) -> Server:
    return Server(
        [FAULTY, "CartPole-v1"], imports=["tests.hosted_envs"], sys_path=(ROOT,), **settings
    )


@pytest.fixture(scope="module")
def fragile() -> Iterator[Server]:
    """A server that loses patience soon."""
    with start(step_timeout=1.0, lease=1.0, max_sessions=4) as server:
        yield server


def active(server: Server) -> int:
    transport = open_transport("unary", server.target, 5.0)
    reply = call(transport, pb.InteractRequest(get_server_info=pb.GetServerInfoRequest()), 5.0)
    transport.close()
    return reply.get_server_info.active_sessions


@pytest.mark.parametrize("transport", first(["stream", "unary"]))
@pytest.mark.parametrize(
    ("fault", "error", "says"),
    [
        (Fault.ABORT, SessionLostError, "SIGABRT"),
        (Fault.EXIT, SessionLostError, "exited with status 3"),
        (Fault.PRINT_AND_ABORT, SessionLostError, "last words"),
        (Fault.HANG, StepTimeoutError, "within 1 s"),
        (Fault.PRINT_FOREVER, StepTimeoutError, "spam"),
    ],
)
def test_a_faulty_environment_harms_only_its_own_session(
    fragile: Server, transport: str, fault: Fault, error: type[Exception], says: str
) -> None:
    faulty = RemoteEnv(fragile.target, FAULTY, transport=transport)
    other = RemoteEnv(fragile.target, FAULTY, transport=transport)
    faulty.reset()
    other.reset()
    with pytest.raises(error, match=says):
        faulty.step(int(fault))
    with pytest.raises(SessionClosedError):
        faulty.step(0)
    assert [other.step(0)[4]["steps"] for _ in range(3)] == [1, 2, 3]
    assert faulty.reset()[0] == [0.0], "reset makes a new one"
    faulty.close()
    other.close()


def test_a_killed_session_process_is_told_before_its_step_times_out(fragile: Server) -> None:
    env = RemoteEnv(fragile.target, FAULTY)
    pid = env.reset()[1]["pid"]
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(SessionLostError, match="SIGKILL"):
        env.step(0)
    env.close()


def test_a_process_that_dies_under_a_step_is_told(fragile: Server) -> None:
    env = RemoteEnv(fragile.target, FAULTY)
    pid = env.reset()[1]["pid"]
    killer = subprocess.Popen(
        [sys.executable, "-c", f"import os,time; time.sleep(0.3); os.kill({pid}, 9)"]
    )
    with pytest.raises(SessionLostError, match="SIGKILL"):
        env.step(int(Fault.HANG))
    killer.wait()
    env.close()


@pytest.mark.parametrize("transport", first(["stream", "unary"]))
def test_the_slot_of_a_killed_client_is_freed_within_the_lease(
    fragile: Server, transport: str
) -> None:
    assert eventually(lambda: active(fragile) == 0)
    script = (
        "import sys, time\nfrom envwire.client import RemoteEnv\n"
        f"env = RemoteEnv({fragile.target!r}, {FAULTY!r}, transport={transport!r})\n"
        "print(env.reset()[1]['pid'], flush=True)\ntime.sleep(60)\n"
    )
    client = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert client.stdout
    with client.stdout:
        pid = int(client.stdout.readline())
        # Longer than the lease: a living client keeps its session however idle it is.
        assert not eventually(lambda: active(fragile) == 0, seconds=2.0)
        client.kill()
        client.wait()
    assert eventually(lambda: active(fragile) == 0)
    assert eventually(lambda: not alive(pid))


def test_capacity_is_refused_and_comes_back(fragile: Server) -> None:
    assert eventually(lambda: active(fragile) == 0)
    envs = [RemoteEnv(fragile.target, FAULTY) for _ in range(4)]
    with pytest.raises(CapacityError, match="--max-sessions") as refused:
        RemoteEnv(fragile.target, FAULTY)
    assert refused.value.retry_after
    envs.pop().close()
    envs.append(RemoteEnv(fragile.target, FAULTY))
    for env in envs:
        env.close()


def test_an_environment_that_cannot_be_made_takes_no_slot(fragile: Server) -> None:
    before = active(fragile)
    with pytest.raises(RuntimeError, match="no simulator here"):
        RemoteEnv(fragile.target, FAULTY, raise_on_make=True)
    assert active(fragile) == before


def test_collected_and_exited_clients_free_their_slots(fragile: Server) -> None:
    assert eventually(lambda: active(fragile) == 0)
    env = RemoteEnv(fragile.target, FAULTY)
    env.reset()
    del env
    assert eventually(lambda: active(fragile) == 0)
    script = (
        "from envwire.client import RemoteEnv\n"
        f"kept = [RemoteEnv({fragile.target!r}, {FAULTY!r}, transport=t) for t in ('unary', 'stream')]\n"
    )
    subprocess.run([sys.executable, "-c", script], timeout=200, check=True)
    assert active(fragile) == 0, "an exiting program closes what it left open"


@pytest.mark.parametrize("transport", first(["stream", "unary"]))
def test_the_clients_own_timeout(server: Server, transport: str) -> None:
    env = RemoteEnv(server.target, FAULTY, transport=transport, timeout=0.9)
    pid = env.reset()[1]["pid"]
    os.kill(pid, signal.SIGSTOP)
    with pytest.raises(RequestTimeoutError, match=r"0\.9 s"):
        env.step(0)
    os.kill(pid, signal.SIGCONT)
    assert env.step(0)[4] == {"steps": 2}, "the step was served all the same, once"
    env.close()


def test_a_hung_close_does_not_hang_the_client() -> None:
    with start(step_timeout=0.5) as server:
        env = RemoteEnv(server.target, FAULTY, hang_on_close=True)
        env.reset()
        with pytest.raises(StepTimeoutError):
            env.close()
        assert active(server) == 0


def test_sigterm_drains() -> None:
    server = start(drain_timeout=20.0).start()
    env = RemoteEnv(server.target, FAULTY)
    env.reset()
    os.kill(server.pid, signal.SIGTERM)
    assert eventually(lambda: _refuses(server.target))
    assert env.step(0)[4] == {"steps": 1}, "a session that is there goes on"
    env.close()
    process = server._process
    assert process
    assert process.wait(60.0) == 0
    server.stop()


def _refuses(target: str) -> bool:
    try:
        RemoteEnv(target, FAULTY, connect_timeout=1.0).close()
    except ServerUnavailableError as error:
        return error.reason == "DRAINING"
    return False


def test_a_killed_server_leaves_no_process_behind() -> None:
    server = start().start()
    env, hung = RemoteEnv(server.target, FAULTY), RemoteEnv(server.target, FAULTY, timeout=0.5)
    pids = [each.reset()[1]["pid"] for each in (env, hung)]
    with pytest.raises(RequestTimeoutError):
        hung.step(int(Fault.HANG))
    os.kill(server.pid, signal.SIGKILL)
    assert eventually(lambda: not any(map(alive, pids)))
    with pytest.raises(ServerUnavailableError):
        env.step(0)
    hung.close()
    server.stop()


def test_a_program_that_dies_takes_its_server_with_it() -> None:
    script = (
        "import os, signal\nfrom envwire.server import Server\n"
        "server = Server(['CartPole-v1']).start()\nprint(server.pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, timeout=200, check=False
    )
    pid = int(done.stdout)
    assert eventually(lambda: not alive(pid))


@pytest.mark.parametrize("transport", first(["stream", "unary"]))
def test_a_forked_child_makes_an_environment_of_its_own(fragile: Server, transport: str) -> None:
    script = (
        "import os\nfrom envwire.client import RemoteEnv, SessionClosedError\n"
        f"env = RemoteEnv({fragile.target!r}, {FAULTY!r}, transport={transport!r})\n"
        "pid = env.reset()[1]['pid']\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    try:\n        env.step(0)\n    except SessionClosedError:\n        pass\n    else:\n        os._exit(3)\n"
        "    own = env.reset()[1]['pid']\n    assert own != pid\n    env.step(0)\n    env.close()\n    os._exit(0)\n"
        "_, status = os.waitpid(child, 0)\nassert status == 0, status\n"
        "assert env.step(0)[4] == {'steps': 1}\nenv.close()\n"
    )
    subprocess.run([sys.executable, "-c", script], timeout=40, check=True)
