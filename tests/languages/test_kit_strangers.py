"""Strangers at the ports of the environment kits: floods, silence, noise, and clients that read nothing."""

from __future__ import annotations

import contextlib
import resource
import select
import socket
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from envwire.client import RemoteEnv
from envwire.v1 import direct_pb2, environment_pb2_grpc
from tests.adversary.channel import HEADER, PREAMBLE, frame
from tests.adversary.ledger import memory_of
from tests.adversary.messages import Session, make_request, value
from tests.languages.programs import LANGUAGES, Kit, kit
from tests.secured import certificates

BIG, SLOW, COUNTER = "Conformance/Big-v0", "Conformance/Slow-v0", "Conformance/Counter-v0"
SECONDS = 60.0
MIB = 2**20
#: Connections that a kit accepts before they say whose they are.
MAX_SILENT = 256
BAD_HELLO = PREAMBLE + frame(b"\xff\xff\xff")
MAKE_HELLO = PREAMBLE + frame(
    direct_pb2.HelloRequest(make=direct_pb2.MakeHello()).SerializeToString()
)


@pytest.fixture(params=LANGUAGES)
def served(request: pytest.FixtureRequest) -> Iterator[Kit]:
    with kit(request.param) as started:
        yield started


def _made(
    served: Kit, env_id: str = COUNTER, tls: grpc.ChannelCredentials | None = None
) -> Session:
    """Makes a session over gRPC."""
    with (
        grpc.insecure_channel(served.target)
        if tls is None
        else grpc.secure_channel(served.target, tls)
    ) as channel:
        stub = environment_pb2_grpc.EnvironmentServiceStub(channel)
        return Session(stub.Make(make_request(env_id)), served.target)


def _tls() -> grpc.ChannelCredentials:
    files = (certificates().path(name).read_bytes() for name in ("ca", "client-key", "client"))
    return grpc.ssl_channel_credentials(*files)


def _connected(session: Session, *, unix: bool = True) -> socket.socket:
    """Connects to the direct port, and sends nothing."""
    prefix = "unix-abstract:" if unix else ":"
    address = next(each for each in session.made.direct.addresses if each.startswith(prefix))
    connection = socket.socket(socket.AF_UNIX if unix else socket.AF_INET)
    connection.settimeout(SECONDS)
    where = address.removeprefix(prefix)
    connection.connect(f"\0{where}" if unix else ("127.0.0.1", int(where)))
    return connection


def _exactly(connection: socket.socket, length: int) -> bytes:
    data = b""
    while len(data) < length:
        more = connection.recv(length - len(data))
        if not more:
            raise ConnectionError("the kit closed the connection")
        data += more
    return data


def _frame(connection: socket.socket) -> bytes:
    return _exactly(connection, HEADER.unpack(_exactly(connection, HEADER.size))[0])


def _refusal(connection: socket.socket) -> str:
    answer = direct_pb2.HelloResponse.FromString(_frame(connection))
    return answer.WhichOneof("result") or ""


def _welcomed(connection: socket.socket, session: Session) -> None:
    connection.sendall(PREAMBLE + frame(session.hello()))
    _frame(connection)


def _opened(session: Session, receive_bytes: int = 0) -> socket.socket:
    """Opens the session's channel, and resets the environment."""
    connection = _connected(session)
    if receive_bytes:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    _welcomed(connection, session)
    connection.sendall(frame(session.direct_request("reset", 1)))
    _frame(connection)
    return connection


def _accepted(connection: socket.socket, data: bytes, most: int) -> int:
    """Sends data again and again, until the kit answers or ends the connection; returns how much it took."""
    sent = 0
    while sent < most:
        readable, writable, _ = select.select([connection], [connection], [], SECONDS)
        if readable or not writable:
            break
        try:
            sent += connection.send(data)
        except OSError:
            break
    return sent


def test_a_flood_behind_a_refused_hello_is_cut(served: Kit) -> None:
    with _connected(_made(served)) as connection:
        connection.sendall(BAD_HELLO)
        assert _refusal(connection) == "error"
        connection.shutdown(socket.SHUT_RD)
        sent, block = 0, bytes(MIB)
        with contextlib.suppress(OSError):
            while sent < 64 * MIB:
                sent += connection.send(block)
        assert sent < 8 * MIB


def test_noise_in_one_piece_with_a_bad_hello_does_not_cost_its_refusal(served: Kit) -> None:
    session = _made(served)
    for noise in (b"\xff" * 1000, bytes(1000), frame(session.hello())):
        with _connected(session) as connection:
            connection.sendall(BAD_HELLO + noise)
            assert _refusal(connection) == "error"
            with pytest.raises(ConnectionError):
                _frame(connection)


@pytest.mark.parametrize("said", [PREAMBLE, MAKE_HELLO], ids=["half", "make"])
def test_connections_that_name_no_session_are_bounded(served: Kit, said: bytes) -> None:
    session = _made(served)
    with contextlib.ExitStack() as stack:
        for _ in range(MAX_SILENT):
            stack.enter_context(_connected(session)).sendall(said)
        with _connected(session) as one_more, pytest.raises(OSError, match=r"closed|reset|pipe"):
            _welcomed(one_more, session)


@pytest.mark.parametrize("language", LANGUAGES)
def test_handshakes_are_bounded(language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, file in {"CA": "ca", "CERT": "server", "KEY": "server-key"}.items():
        monkeypatch.setenv(f"ENVWIRE_{name}", str(certificates().path(file)))
    with kit(language) as served, contextlib.ExitStack() as stack:
        session = _made(served, tls=_tls())
        for _ in range(MAX_SILENT):
            stack.enter_context(_connected(session, unix=False))
        with _connected(session, unix=False) as one_more:
            assert one_more.recv(1) == b""


@pytest.mark.parametrize("language", LANGUAGES)
def test_answers_that_are_not_read_are_in_memory_once(
    language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    readers, size = 16, 8 * MIB
    # glibc gives back at once what it would keep for the next answer: what is left is held.
    monkeypatch.setenv("MALLOC_MMAP_THRESHOLD_", str(MIB))
    with kit(language) as served, contextlib.ExitStack() as stack:
        for _ in range(readers):
            session = _made(served, BIG)
            connection = stack.enter_context(_opened(session, receive_bytes=4096))
            connection.sendall(frame(session.direct_request("step", 2, action=value(size))))
            connection.recv(1)
        assert memory_of(served.process.pid) < 300 * MIB  # 128 of answers


def test_what_is_only_announced_takes_no_memory(served: Kit) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(20):
            session = _made(served)
            stack.enter_context(_opened(session)).sendall(HEADER.pack(30 * MIB, 0, 0) + b"\0")
        with RemoteEnv(served.target, COUNTER) as env:
            env.reset()
            assert memory_of(served.process.pid) < 200 * MIB  # of 600 that were announced


def test_requests_behind_a_slow_one_stay_outside(served: Kit) -> None:
    session = _made(served, SLOW)
    with _opened(session) as connection:
        slow = session.direct_request("step", 2, action=value(2.0))
        large = session.direct_request("step", 3, action=value("x" * 65536))
        connection.sendall(frame(slow))
        assert _accepted(connection, frame(large), 64 * MIB) < 8 * MIB


def test_the_system_asks_whether_a_client_is_still_there(served: Kit) -> None:
    """A machine that vanishes says nothing, and its session would be held for ever."""
    session = _made(served)
    with _connected(session, unix=False) as connection:
        _welcomed(connection, session)
        ours, theirs = (each[1] for each in (connection.getsockname(), connection.getpeername()))
        rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        ports = [f"{theirs:04X}", f"{ours:04X}"]
        timers = [
            row[5].partition(":")[0]
            for row in rows
            if [end.partition(":")[2] for end in row[1:3]] == ports
        ]
        assert timers == ["02"]  # keep-alive


def test_a_kit_without_room_for_threads_serves_on() -> None:
    with kit("cpp") as served, contextlib.ExitStack() as stack:
        session = _made(served)
        pid, unlimited = served.process.pid, (resource.RLIM_INFINITY,) * 2
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[0])
        resource.prlimit(
            pid, resource.RLIMIT_AS, (pages * resource.getpagesize() + 64 * MIB, unlimited[1])
        )
        for _ in range(100):
            with contextlib.suppress(OSError):  # some are closed at once
                stack.enter_context(_connected(session)).sendall(PREAMBLE)
        stack.close()
        resource.prlimit(pid, resource.RLIMIT_AS, unlimited)
        with RemoteEnv(served.target, COUNTER) as env:
            assert env.reset()[0].tolist() == [0, 0]
