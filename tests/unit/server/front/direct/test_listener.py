"""The start of direct channels: valid hellos are handed over, all others are refused or dropped in time."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from envwire.codec import FaultError, Reason, decode_fault, envwire_family
from envwire.server._front import direct_listener as direct
from envwire.server._front.direct_listener import DirectListener
from envwire.server._front.ports import Bounds
from envwire.server._ipc.frames import ChannelUse
from envwire.server.config import ServerConfig
from envwire.v1 import direct_pb2
from envwire.v1 import environment_pb2 as pb
from envwire.wire.envelope import RESPONSES
from envwire.wire.frames import HEADER, HEADER_BYTES, PREAMBLE

SECRET = b"s" * 16
#: Access and exchange of a listener that nobody asks for a session.
MAKES: Any = (None, None)


def framed(message: bytes) -> bytes:
    return HEADER.pack(len(message), 0, 0) + message


def hello(session_id: str = "known", secret: bytes = SECRET) -> bytes:
    owner = pb.SessionHeader(session_id=session_id, secret=secret)
    request = direct_pb2.HelloRequest(header=owner, shared_memory=True, mailbox=True)
    return PREAMBLE + framed(request.SerializeToString())


class Hosted:
    """The sessions of a server: a single one, which answers each connection with b"hi"."""

    def __init__(self) -> None:
        self.memory: list[ChannelUse] = []
        self.left: list[bytes] = []
        self.held: asyncio.Event | None = None

    def find(self, session_id: str, secret: bytes) -> Hosted:
        if session_id != "known":
            raise FaultError(Reason.UNKNOWN_SESSION, "who?")
        if secret != SECRET:
            raise FaultError(Reason.WRONG_SECRET, "wrong secret")
        return self

    async def admit(
        self, connection: socket.socket, client: socket.socket, memory: ChannelUse
    ) -> None:
        assert client is connection, "without TLS"
        if connection.family == socket.AF_INET:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY), "sends at once"
            assert connection.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        self.memory.append(memory)
        if self.held is not None:
            await self.held.wait()
        with contextlib.suppress(BlockingIOError):
            self.left.append(connection.recv(100))
        await asyncio.get_running_loop().sock_sendall(connection, b"hi")


class Client:
    """A connection to a listener."""

    def __init__(self, address: str) -> None:
        unix = address.startswith("unix-abstract:")
        self._socket = socket.socket(socket.AF_UNIX if unix else socket.AF_INET)
        self._socket.setblocking(False)
        name = f"\0{address.removeprefix('unix-abstract:')}"
        self._address: Any = name if unix else ("127.0.0.1", int(address[1:]))

    async def connect(self) -> Client:
        await asyncio.get_running_loop().sock_connect(self._socket, self._address)
        return self

    async def say(self, data: bytes) -> None:
        with contextlib.suppress(ConnectionError):  # `hear` tells
            await asyncio.get_running_loop().sock_sendall(self._socket, data)

    async def hear(self) -> bytes:
        """Returns all that comes until the end; a reset is an end as well."""
        heard = b""
        while True:
            try:
                more = await asyncio.get_running_loop().sock_recv(self._socket, 4096)
            except ConnectionResetError:
                return heard
            if not more:
                return heard
            heard += more

    def close(self) -> None:
        self._socket.close()


Story = Callable[[Callable[[], Awaitable[Client]], Hosted], Awaitable[None]]


def run(story: Story, kind: int = 0, makes: Any = MAKES, **settings: Any) -> None:
    """Runs a story with what opens connections to a listener, over Unix sockets (0) or TCP (1)."""

    async def play() -> None:
        hosted, clients = Hosted(), list[Client]()
        sessions: Any = hosted
        listener = DirectListener(ServerConfig(("x",)), sessions, *makes, **settings)
        listener.start()

        async def connect() -> Client:
            clients.append(Client(listener.addresses[kind]))
            return await clients[-1].connect()

        try:
            await asyncio.wait_for(story(connect, hosted), 60.0)
        finally:
            listener.stop()
            listener.stop()
            for client in clients:
                client.close()
        await asyncio.sleep(0)  # what was cancelled ends

    asyncio.run(play())


both_kinds = pytest.mark.parametrize("kind", [0, 1], ids=["Unix", "TCP"])


def reason(heard: bytes) -> str:
    length, where, attached = HEADER.unpack_from(heard)
    assert (where, attached) == (0, 0)
    assert len(heard) == HEADER_BYTES + length
    response = direct_pb2.HelloResponse.FromString(heard[HEADER_BYTES:])
    return decode_fault(response.error, envwire_family()).reason.value


@both_kinds
def test_an_owner_is_handed_over_and_gets_memory_only_on_this_machine(kind: int) -> None:
    async def story(connect: Any, hosted: Hosted) -> None:
        client = await connect()
        await client.say(hello())
        assert await client.hear() == b"hi"
        assert hosted.memory == [ChannelUse(frames=kind == 0, mailbox=kind == 0)]

    run(story, kind)


@both_kinds
def test_a_hello_may_be_cut_at_any_byte_and_what_follows_it_is_left_to_the_session(
    kind: int,
) -> None:
    async def story(connect: Any, hosted: Hosted) -> None:
        for cut in range(1, len(hello())):
            client = await connect()
            await client.say(hello()[:cut])
            await client.say(hello()[cut:])
            assert await client.hear() == b"hi"
        assert len(hosted.memory) == len(hello()) - 1

    run(story, kind)


def test_not_a_byte_behind_the_hello_is_read() -> None:
    async def story(connect: Any, hosted: Hosted) -> None:
        client = await connect()
        await client.say(hello() + b"the first request")
        assert await client.hear() == b"hi"
        assert hosted.left == [b"the first request"]

    run(story)


@both_kinds
@pytest.mark.parametrize(
    "sent",
    [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", PREAMBLE[:-1] + b"\2" + hello()[8:], b"\0" * 100],
    ids=["HTTP", "another version", "zeros"],
)
def test_what_does_not_begin_right_is_dropped_without_a_word(kind: int, sent: bytes) -> None:
    async def story(connect: Any, hosted: Hosted) -> None:
        client = await connect()
        await client.say(sent)
        assert await client.hear() == b""
        assert hosted.memory == []

    run(story, kind)


REFUSED = {
    "too long": (PREAMBLE + HEADER.pack(1025, 0, 0), "MALFORMED_REQUEST"),
    "attachments": (PREAMBLE + HEADER.pack(1, 0, 1), "MALFORMED_REQUEST"),
    "in memory": (PREAMBLE + HEADER.pack(1, 1, 0), "MALFORMED_REQUEST"),
    "not a hello": (PREAMBLE + framed(b"\xff\xff"), "MALFORMED_REQUEST"),
    "nobody": (PREAMBLE + framed(b""), "MALFORMED_REQUEST"),
    "somebody and a new session": (
        PREAMBLE
        + framed(
            direct_pb2.HelloRequest(
                header=pb.SessionHeader(session_id="known", secret=SECRET),
                make=direct_pb2.MakeHello(),
            ).SerializeToString()
        ),
        "MALFORMED_REQUEST",
    ),
    "unknown session": (hello(session_id="other"), "UNKNOWN_SESSION"),
    "wrong secret": (hello(secret=b"t" * 16), "WRONG_SECRET"),
    "no secret": (hello(secret=b""), "WRONG_SECRET"),
}


@both_kinds
@pytest.mark.parametrize(("sent", "why"), REFUSED.values(), ids=REFUSED)
def test_refusals_are_told(kind: int, sent: bytes, why: str) -> None:
    async def story(connect: Any, hosted: Hosted) -> None:
        client = await connect()
        await client.say(sent)
        assert reason(await client.hear()) == why
        assert hosted.memory == []

    run(story, kind)


@both_kinds
@pytest.mark.parametrize(
    "said", [b"", PREAMBLE[:3], hello()[:-1]], ids=["nothing", "little", "all but a byte"]
)
def test_who_says_nothing_is_dropped_in_time(
    monkeypatch: pytest.MonkeyPatch, kind: int, said: bytes
) -> None:
    monkeypatch.setattr(direct, "_HELLO_SECONDS", 0.05)

    async def story(connect: Any, hosted: Hosted) -> None:
        silent = await connect()
        await silent.say(said)
        assert await silent.hear() == b""

    run(story, kind)


def test_of_undecided_connections_the_oldest_makes_room() -> None:
    async def story(connect: Any, hosted: Hosted) -> None:
        undecided = [await connect() for _ in range(3)]
        fourth = await connect()
        assert await undecided[0].hear() == b"", "dropped at once"
        for other in (*undecided[1:], fourth):
            await other.say(hello())
            assert await other.hear() == b"hi", "the others are waited for"

    run(story, bounds=Bounds(3, 3))


def test_connections_of_sessions_make_no_room() -> None:
    async def story(connect: Any, hosted: Hosted) -> None:
        hosted.held = asyncio.Event()
        served = await connect()
        await served.say(hello())
        while not hosted.memory:
            await asyncio.sleep(0)
        await connect()
        stranger = await connect()
        hosted.held.set()
        assert await served.hear() == b"hi"
        await stranger.say(hello())
        assert await stranger.hear() == b"hi"

    run(story, bounds=Bounds(1, 1))


def test_who_pads_names_of_abstract_sockets_reaches_it() -> None:
    """Node.js 20 does."""

    async def play() -> None:
        sessions: Any = Hosted()
        listener = DirectListener(ServerConfig(("x",)), sessions, *MAKES)
        listener.start()
        name = listener.addresses[0].removeprefix("unix-abstract:")
        with contextlib.closing(Client(f"unix-abstract:{name.ljust(107, chr(0))}")) as client:
            await client.connect()
        listener.stop()

    asyncio.run(play())


def test_no_direct_channel_where_the_operator_wants_none() -> None:
    async def play() -> None:
        sessions: Any = Hosted()
        listener = DirectListener(ServerConfig(("x",), direct_port=-1), sessions, *MAKES)
        listener.start()
        assert listener.addresses == []

    asyncio.run(play())


def test_a_taken_port_is_told() -> None:
    async def play() -> None:
        sessions: Any = Hosted()
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            listener = DirectListener(ServerConfig(("x",), direct_port=port), sessions, *MAKES)
            with pytest.raises(
                OSError, match=rf"cannot bind 127.0.0.1:{port}: the port is in use.*--direct-port"
            ):
                listener.start()
            listener.stop()

    asyncio.run(play())


def test_a_listener_that_stops_leaves_no_connection_undecided() -> None:
    async def play() -> None:
        sessions: Any = Hosted()
        sessions.held = asyncio.Event()
        listener = DirectListener(ServerConfig(("x",)), sessions, *MAKES)
        listener.start()
        client = await Client(listener.addresses[0]).connect()
        await client.say(hello())
        while not sessions.memory:
            await asyncio.sleep(0)
        listener.stop()
        for _ in range(5):
            await asyncio.sleep(0)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        client.close()

    asyncio.run(play())


@pytest.mark.parametrize(("kind", "near", "forked"), [(0, False, 0), (1, True, 0), (1, False, 1)])
def test_a_make_from_another_machine_lets_the_next_find_a_process(
    kind: int, near: bool, forked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(direct, "is_loopback", lambda _: near)
    asked = list[None]()

    class Everybody:
        def identify(self, _: Any) -> None:
            return None

    async def exchange(*_: Any) -> bytes:
        return RESPONSES.wrap(
            "make", pb.MakeResponse(session_id="known", secret=SECRET).SerializeToString()
        )

    async def story(connect: Any, _: Hosted) -> None:
        there, new = await connect(), await connect()
        await there.say(hello())
        assert await there.hear() == b"hi"
        made = direct_pb2.HelloRequest(make=direct_pb2.MakeHello())
        await new.say(PREAMBLE + framed(made.SerializeToString()) + framed(b""))
        assert (await new.hear())[-2:] == b"hi"
        for _turn in range(10):
            await asyncio.sleep(0)

    run(story, kind, makes=(Everybody(), exchange), fork_ahead=lambda: asked.append(None))
    assert len(asked) == forked
