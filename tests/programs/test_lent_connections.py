"""Programs of `envwire serve --exec` that serve the connections of clients themselves."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest

import envwire.conformance.checks  # noqa: F401 - importing them is what lists them
from envwire.admin.v1.admin_pb2 import ListSessionsRequest
from envwire.admin.v1.admin_pb2_grpc import AdminServiceStub
from envwire.client import RemoteEnv, RemoteVectorEnv, SessionLostError, StepTimeoutError
from envwire.conformance.raw import Access
from envwire.conformance.suite import Selection
from envwire.conformance.suite.runner import Outcome, Runner
from envwire.envs import make, make_vec
from envwire.server import Server
from envwire.server._recording.files import RecordedSession, path_of
from envwire.testing.comparing import identical, rollout
from tests.faults.scene import eventually
from tests.programs import clients
from tests.tiers import first

SIMULATOR = Path(__file__).with_name("simulator.py")
PROGRAM = f"{sys.executable} {SIMULATOR} --direct"
IDS = [
    *("CartPole-v1", "FrozenLake-v1", "Faulty-v0"),
    *(f"Conformance/{name}-v0" for name in ("Counter", "Echo", "Big")),
]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server(IDS, program=PROGRAM, step_timeout=3.0) as server:
        yield server


def connected_to_programs() -> int:
    """Returns how many sockets the programs hold beyond the two that they inherit."""
    held = 0
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path(f"/proc/{entry}/cmdline").read_bytes().split(b"\0")
            if b"--direct" in words and str(SIMULATOR).encode() in words:
                links = [
                    os.readlink(f"/proc/{entry}/fd/{fd}") for fd in os.listdir(f"/proc/{entry}/fd")
                ]
                held += len({link for link in links if link.startswith("socket:")}) - 2
        except OSError:
            continue
    return held


def test_the_program_has_the_clients_connection(server: Server) -> None:
    with RemoteEnv(server.target, "CartPole-v1") as remote, make("CartPole-v1") as local:
        assert eventually(lambda: connected_to_programs() == 1)
        assert identical(rollout(remote, 60, seed=1), rollout(local, 60, seed=1))
    assert eventually(lambda: connected_to_programs() == 0)


def test_what_needs_the_server_comes_between_steps(server: Server) -> None:
    with (
        RemoteEnv(server.target, "CartPole-v1", render_mode="rgb_array") as remote,
        make("CartPole-v1", render_mode="rgb_array") as local,
    ):
        assert identical(remote.reset(seed=3), local.reset(seed=3))
        for step in range(12):
            assert identical(remote.step(step % 2), local.step(step % 2))
            assert remote.get_wrapper_attr("gravity") == local.get_wrapper_attr("gravity")
            assert remote.has_wrapper_attr("nothing") is local.has_wrapper_attr("nothing")
        assert identical(remote.render(), local.render())
        assert remote.np_random.random() == local.np_random.random()
        assert identical(remote.step(0), local.step(0))


def test_a_vector_is_the_programs_own(server: Server) -> None:
    local = make_vec("FrozenLake-v1", num_envs=3)
    with closing(RemoteVectorEnv(server.target, "FrozenLake-v1", num_envs=3, sessions=1)) as remote:
        assert identical(remote.reset(seed=3), local.reset(seed=3))
        for step in range(20):
            actions = np.full(3, step % 4)
            assert identical(remote.step(actions), local.step(actions))


ENDS = {
    7: (SessionLostError, "killed by SIGSEGV", "about to write to address 0"),
    8: (StepTimeoutError, "did not answer within 3 s", ""),
    10: (SessionLostError, "exited with status 3", "nothing left to simulate"),
}


@pytest.mark.parametrize("action", first(ENDS.keys()))
def test_a_program_that_fails_touches_no_other(server: Server, action: int) -> None:
    kind, how, said = ENDS[action]
    with RemoteEnv(server.target, "CartPole-v1") as other, make("CartPole-v1") as local:
        assert identical(other.reset(seed=1), local.reset(seed=1))
        failing = RemoteEnv(server.target, "Faulty-v0")
        failing.reset(seed=1)
        with pytest.raises(kind, match=how) as caught:
            failing.step(action)
        assert said in str(caught.value)
        assert identical(other.step(1), local.step(1))


def test_its_steps_count(server: Server) -> None:
    with RemoteEnv(server.target, "CartPole-v1") as remote:
        remote.reset(seed=1)
        for _ in range(5):
            remote.step(1)
        assert eventually(lambda: requests(server.target) == 6)


def requests(target: str) -> int:
    """Returns how many requests the server's only session has served."""
    with grpc.insecure_channel(target) as channel:
        listed = AdminServiceStub(channel).ListSessions(ListSessionsRequest())
    (session,) = listed.sessions
    return session.requests


def test_a_broken_connection_is_opened_again(server: Server) -> None:
    with RemoteEnv(server.target, "CartPole-v1") as remote, make("CartPole-v1") as local:
        assert identical(remote.reset(seed=2), local.reset(seed=2))
        for step in range(6):
            if step % 2:
                break_connections()
            assert identical(remote.step(step % 2), local.step(step % 2))


def break_connections() -> None:
    """Shuts down this process's connections to abstract Unix sockets of servers."""
    for descriptor in map(int, os.listdir("/proc/self/fd")):
        try:
            duplicate = socket.socket(fileno=os.dup(descriptor))
        except OSError:
            continue
        with duplicate:
            peer = duplicate.getpeername() if duplicate.family == socket.AF_UNIX else b""
            if isinstance(peer, bytes) and peer.startswith(b"\0envwire-"):
                duplicate.shutdown(socket.SHUT_RDWR)


def test_attributes_follow_the_servers_lists() -> None:
    public: dict[str, Any] = {"public": True, "insecure": True, "allow_attributes": ["gravity"]}
    with (
        Server(["CartPole-v1"], program=PROGRAM, **public) as server,
        RemoteEnv(server.target, "CartPole-v1") as env,
    ):
        env.reset(seed=1)
        for _ in range(2):
            assert env.get_wrapper_attr("gravity") == 9.8
            with pytest.raises(Exception, match="not listed"):
                env.get_wrapper_attr("length")
            assert not env.has_wrapper_attr("length")
            env.step(1)


def test_recordings_keep_the_connection_here(tmp_path: Path) -> None:
    with Server(IDS, program=PROGRAM, record=tmp_path) as server:
        remote = RemoteEnv(server.target, "CartPole-v1")
        rollout(remote, 20, seed=2)
        name = remote.recorded_as
        remote.close()
        recorded = RecordedSession(path_of(tmp_path, name))
        assert [each.kind for each in recorded.exchanges()].count("step") == 20


def test_a_request_over_grpc_leaves_the_connection_open(server: Server) -> None:
    checks = Selection(("core", "direct"), ("sequence.a-request-may-be-repeated-as-a-unary*",))
    results = list(Runner(Access(server.target), checks, seconds=30.0).results())
    assert [each.outcome for each in results] == [Outcome.PASSED]


def test_a_client_that_reads_late_is_served_elsewhere_meanwhile(server: Server) -> None:
    clients.read_late_and_ask_elsewhere(server.target)


def test_a_request_as_long_as_may_be_comes_through() -> None:
    with (
        Server(["CartPole-v1"], program=PROGRAM, max_message_bytes=2**20) as server,
        RemoteEnv(server.target, "CartPole-v1") as remote,
    ):
        remote.reset(seed=1)
        for length in range(2**20 - 64, 2**20 - 16, 8):
            assert not remote.has_wrapper_attr("x" * length)
        remote.step(1)
