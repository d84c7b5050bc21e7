"""Too much of everything: files, processes, full disks, clients that do not read. The server refuses, and goes on."""

from __future__ import annotations

import os
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import grpc
import pytest

from envwire.client import CapacityError, RemoteEnv
from envwire.codec import encode_mapping, encode_value
from envwire.server import Server
from envwire.v1 import direct_pb2
from envwire.v1 import environment_pb2 as pb
from envwire.wire.envelope import without_header
from envwire.wire.frames import HEADER, PREAMBLE
from tests.conftest import ROOT
from tests.faults.hungry_envs import HUNGRY, Appetite
from tests.faults.scene import (
    TRANSPORTS,
    active,
    alive,
    direct_address,
    eventually,
    family_of,
    forkserver_of,
    open_files,
    processor_seconds,
    resident_bytes,
    serve,
)

MEGABYTE = 1 << 20


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """One server that has too much of one thing after another."""
    with serve() as running:
        yield running


def make(server: Server, **settings: Any) -> RemoteEnv:
    env = RemoteEnv(server.target, HUNGRY, **settings)
    env.reset()
    return env


def goes_on(env: RemoteEnv) -> None:
    """Checks that an episode goes on, one step at a time."""
    before = env.step(0)[4]["steps"]
    assert [env.step(0)[4]["steps"] - before for _ in range(3)] == [1, 2, 3]


@contextmanager
def few_files(pid: int, more: int) -> Generator[None]:
    """Limits the number of further files that a process can open."""
    soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (open_files(pid) + more, hard))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))


def test_a_front_without_files_refuses_and_recovers(server: Server) -> None:
    envs = [make(server, transport=transport) for transport in TRANSPORTS]
    line = grpc.insecure_channel(server.target)
    ask = method(line, "Make")
    request = pb.MakeRequest(env_id=HUNGRY).SerializeToString()
    ask(pb.MakeRequest(env_id=HUNGRY).SerializeToString())
    with few_files(server.pid, 1):
        with pytest.raises(grpc.RpcError) as refused:
            ask(request, timeout=10.0)
        assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        for env in envs:
            goes_on(env)
    make(server).close()
    for env in envs:
        env.close()
    line.close()


def test_a_front_without_files_does_not_spin(server: Server) -> None:
    env = make(server, transport="direct-tcp")
    address = direct_address(env)
    with few_files(server.pid, 0):
        waiting = [socket.create_connection(address) for _ in range(5)]
        before = processor_seconds(server.pid)
        goes_on(env)
        time.sleep(1.0)  # what is measured is idleness
        assert processor_seconds(server.pid) - before < 0.5
    for each in waiting:
        each.close()
    make(server, transport="direct-tcp").close()
    env.close()


def test_a_machine_without_processes_refuses_and_recovers() -> None:
    group = Path(f"/sys/fs/cgroup/pids/envwire-test-{os.getpid()}")
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"needs a cgroup of its own: {error}")
    server = serve().start()
    try:
        env = make(server)
        forkserver = forkserver_of(server.pid)
        (group / "cgroup.procs").write_text(str(forkserver))
        (group / "pids.max").write_text("1")
        with pytest.raises(CapacityError, match="no process for the environment") as refused:
            make(server)
        assert refused.value.retry_after
        goes_on(env)
        (group / "pids.max").write_text("max")
        make(server).close()
        env.close()
    finally:
        server.stop()
        assert eventually(lambda: not (group / "cgroup.procs").read_text())
        group.rmdir()


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root")
def test_full_disks_and_full_shared_memory_do_not_matter() -> None:
    fill = "mount -t tmpfs -o size=16k tmpfs {0} && dd if=/dev/zero of={0}/full bs=1k count=64"
    prepare = " ; ".join(fill.format(path) for path in ("/dev/shm", "/tmp"))
    arguments = f"--import tests.faults.hungry_envs --port 0 --shared-memory {64 * MEGABYTE}"
    process = subprocess.Popen(
        [
            *("unshare", "--mount", "sh", "-c"),
            f"{{ {prepare} ; }} >&2 ; df /tmp | grep -q 100% && "
            f"exec {sys.executable} -m envwire serve {HUNGRY} {arguments}",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=ROOT,
    )
    assert process.stdout
    try:
        line = process.stdout.readline()
        if not line:
            pytest.skip("mounts are not allowed here")
        for transport in TRANSPORTS:
            env = RemoteEnv(line.split()[1], HUNGRY, transport=transport, size=MEGABYTE // 8)
            env.reset()
            assert env.step(0)[0].nbytes == MEGABYTE
            env.close()
    finally:
        process.terminate()
        process.communicate(timeout=30.0)


def method(line: grpc.Channel, name: str) -> Any:
    """Returns a method of the service that takes and gives bytes."""
    channel: Any = line
    return channel.unary_unary(f"/envwire.v1.EnvironmentService/{name}")


def pipelined_steps(made: pb.MakeResponse, count: int) -> list[bytes]:
    """Returns a reset and steps in sequence, as a client sends them that does not wait for replies."""
    requests: list[bytes] = []
    for sequence in range(1, count + 1):
        request = pb.InteractRequest()
        body = request.step if sequence > 1 else request.reset
        body.header.session_id, body.header.secret = made.session_id, made.secret
        body.sequence = sequence
        if sequence > 1:
            encode_value(0, request.step.action)
        requests.append(request.SerializeToString())
    return requests


def made_by_hand(line: grpc.Channel, **kwargs: float) -> pb.MakeResponse:
    request = pb.MakeRequest(env_id=HUNGRY)
    encode_mapping(kwargs, request.kwargs, "kwargs")
    raw = method(line, "Make")(request.SerializeToString())
    return pb.MakeResponse.FromString(raw)


def test_who_does_not_read_a_stream_fills_no_memory(server: Server) -> None:
    other = make(server)
    line = grpc.insecure_channel(server.target, [("grpc.max_receive_message_length", -1)])
    made = made_by_hand(line, size=MEGABYTE // 8)
    before = resident_bytes(server.pid)
    requests: SimpleQueue[bytes | None] = SimpleQueue()
    for raw in pipelined_steps(made, 300):
        requests.put(raw)
    channel: Any = line
    interact = channel.stream_stream("/envwire.v1.EnvironmentService/Interact")
    replies = interact(iter(requests.get, None))
    next(replies)
    goes_on(other)
    time.sleep(1.0)  # what is waited for is that nothing happens
    grown = resident_bytes(server.pid) - before
    assert grown < 64 * MEGABYTE, "300 MB were asked for, and nobody read them"
    requests.put(None)
    replies.cancel()
    line.close()
    goes_on(other)
    other.close()


def test_who_does_not_read_a_direct_channel_fills_no_memory(server: Server) -> None:
    other = make(server)
    line = grpc.insecure_channel(server.target)
    made = made_by_hand(line, size=MEGABYTE // 8)
    before = {pid: resident_bytes(pid) for pid in family_of(server.pid)}
    port = int(
        next(each for each in made.direct.addresses if "unix" not in each).rpartition(":")[2]
    )
    owner = pb.SessionHeader(session_id=made.session_id, secret=made.secret)
    hello = direct_pb2.HelloRequest(header=owner)
    with socket.create_connection(("127.0.0.1", port)) as greedy:
        greedy.settimeout(1.0)
        greedy.sendall(PREAMBLE)
        for raw in [hello.SerializeToString(), *map(without_header, pipelined_steps(made, 300))]:
            greedy.sendall(HEADER.pack(len(raw), 0, 0) + raw)
        goes_on(other)
        time.sleep(1.0)  # what is waited for is that nothing happens
        for pid, size in before.items():
            assert resident_bytes(pid) - size < 64 * MEGABYTE
    line.close()
    goes_on(other)
    other.close()


def test_a_flood_of_makes_is_refused_in_time() -> None:
    with serve(max_sessions=4, lease=5.0) as server:
        line = grpc.insecure_channel(server.target)
        ask = method(line, "Make")
        request = pb.MakeRequest(env_id=HUNGRY).SerializeToString()
        calls = [ask.future(request, timeout=30.0) for _ in range(300)]
        codes = [call.code() for call in calls]
        assert codes.count(grpc.StatusCode.OK) == 4
        assert codes.count(grpc.StatusCode.RESOURCE_EXHAUSTED) == 296
        line.close()
        assert eventually(lambda: active(server.target) == 0), "nobody drives them: leases end"
        assert eventually(lambda: len(family_of(server.pid)) == 2)


def test_a_flood_of_connections_leaves_the_sessions_alone(server: Server) -> None:
    env = make(server, transport="direct-tcp")
    flood: list[socket.socket] = []
    try:
        for _ in range(600):
            flood.append(socket.create_connection(direct_address(env), timeout=60.0))
        goes_on(env)
    finally:
        for each in flood:
            each.close()
    fresh = make(server, transport="direct-unix")
    goes_on(fresh)
    fresh.close()
    env.close()
    assert alive(server.pid)


def test_too_many_requests_of_one_session_are_refused(server: Server) -> None:
    line = grpc.insecure_channel(server.target)
    made = made_by_hand(line, patience=3.0)
    requests = [pb.InteractRequest.FromString(raw) for raw in pipelined_steps(made, 400)]
    method(line, "Reset")(requests[0].reset.SerializeToString())
    step = method(line, "Step")
    steps = [request.step for request in requests[1:]]
    encode_value(int(Appetite.TIME), steps[0].action)
    calls = [step.future(each.SerializeToString(), timeout=30.0) for each in steps]
    codes = [call.code() for call in calls]
    assert codes.count(grpc.StatusCode.RESOURCE_EXHAUSTED) > 100, "more than a few may not wait"
    line.close()
    env = make(server)
    goes_on(env)
    env.close()
