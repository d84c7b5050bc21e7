"""The direct transport without a server: its addresses, its fallback, and its handling of refusals."""

from __future__ import annotations

import contextlib
import re
import socket
import time
from collections.abc import Callable, Iterator
from threading import Thread

import pytest

from envwire.client import InvalidRequestError, RequestTimeoutError, ServerUnavailableError
from envwire.client._transports.direct.direct import DirectTransport
from envwire.client._transports.transport import ARRIVED, Transport
from envwire.client.credentials import Credentials
from envwire.codec import FaultError, Reason, encode_fault
from envwire.v1 import direct_pb2
from envwire.v1 import environment_pb2 as pb
from envwire.wire.envelope import session_header, with_header
from envwire.wire.frames import HEADER, HEADER_BYTES, PREAMBLE, Reply
from tests.unit.client.driven import ANYTHING, driver_over

LIMIT = 1000
MAKE = pb.InteractRequest(make=pb.MakeRequest(env_id="x")).SerializeToString()
RESET = pb.InteractRequest(reset=pb.ResetRequest(sequence=1)).SerializeToString()
DONE = pb.InteractResponse(reset=pb.ResetResponse()).SerializeToString()
SECONDS = 60.0

#: What a server does with a connection.
Conversation = Callable[[socket.socket], None]


def framed(message: bytes) -> bytes:
    return HEADER.pack(len(message), 0, 0) + message


def read(connection: socket.socket) -> bytes:
    header = connection.recv(HEADER_BYTES, socket.MSG_WAITALL)
    if not header:
        raise ConnectionError("stopped")
    return connection.recv(HEADER.unpack(header)[0], socket.MSG_WAITALL)


def greeted(connection: socket.socket) -> bytes:
    assert connection.recv(len(PREAMBLE), socket.MSG_WAITALL) == PREAMBLE
    return read(connection)


def serve(connection: socket.socket) -> None:
    """Welcomes a client and answers its requests."""
    hello = direct_pb2.HelloRequest.FromString(greeted(connection))
    assert (hello.header.session_id, hello.header.secret) == ("session", b"secret")
    response = direct_pb2.HelloResponse(welcome=direct_pb2.Welcome(max_message_bytes=LIMIT))
    connection.sendall(framed(response.SerializeToString()))
    while connection.recv(1, socket.MSG_PEEK):
        assert read(connection) == RESET, "it belongs to the session: no header"
        connection.sendall(framed(DONE))


def refuse(connection: socket.socket) -> None:
    """Says that there is no such session."""
    greeted(connection)
    response = direct_pb2.HelloResponse()
    encode_fault(FaultError(Reason.UNKNOWN_SESSION, "never heard of it"), response.error)
    connection.sendall(framed(response.SerializeToString()))


def lose(connection: socket.socket) -> None:
    """Says that the session's process has died."""
    greeted(connection)
    response = direct_pb2.HelloResponse()
    encode_fault(FaultError(Reason.SESSION_LOST, "it died"), response.error)
    connection.sendall(framed(response.SerializeToString()))


def chat(connection: socket.socket) -> None:
    """Speaks another protocol."""
    greeted(connection)
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


def hang_up(connection: socket.socket) -> None:
    """Says nothing."""


def stay_silent(connection: socket.socket) -> None:
    """Reads what comes, and answers nothing."""
    while connection.recv(1000):
        pass


def trickle(connection: socket.socket) -> None:
    """Welcomes a client and answers a byte at a time, each within the client's timeout, then hangs up."""
    greeted(connection)
    response = direct_pb2.HelloResponse(welcome=direct_pb2.Welcome(max_message_bytes=LIMIT))
    connection.sendall(framed(response.SerializeToString()))
    read(connection)
    connection.sendall(HEADER.pack(LIMIT, 0, 0) + b"\0")
    for _ in range(100):
        time.sleep(0.01)
        connection.sendall(b"\0")


def hang_up_later(connection: socket.socket) -> None:
    """Welcomes a client and answers nothing."""
    greeted(connection)
    response = direct_pb2.HelloResponse(welcome=direct_pb2.Welcome(max_message_bytes=LIMIT))
    connection.sendall(framed(response.SerializeToString()))
    read(connection)


class Listener:
    """Takes connections one after another, each with the next of some conversations, the last again and again."""

    def __init__(self, *conversations: Conversation) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self._conversations = list(conversations)
        self.taken = 0
        self._open: set[socket.socket] = set()
        self._thread = Thread(target=self._run)
        self._thread.start()

    @property
    def address(self) -> str:
        return f":{self._server.getsockname()[1]}"

    def _run(self) -> None:
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            converse = self._conversations[min(self.taken, len(self._conversations) - 1)]
            self.taken += 1
            with connection, contextlib.suppress(OSError):
                self._open.add(connection)
                converse(connection)
            self._open.discard(connection)

    def stop(self) -> None:
        with contextlib.suppress(OSError):  # stopped already
            self._server.shutdown(socket.SHUT_RDWR)
        for connection in list(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._thread.join(SECONDS)
        assert not self._thread.is_alive()
        self._server.close()


HEADER_FIELD = session_header("session", b"secret")


class Grpc(Transport):
    """Stands for the gRPC transports: answers a Make with addresses, and everything else with DONE."""

    def __init__(self, kind: str, addresses: list[str], advertised: str) -> None:
        self.kind = kind
        self._made = pb.InteractResponse(
            make=pb.MakeResponse(session_id="session", secret=b"secret", address=advertised)
        )
        self._made.make.direct.addresses.extend(addresses)
        self.requests: list[bytes] = []
        self.closed = False

    def exchange(self, request: bytes, timeout: float, header: bytes = b"") -> Reply:
        self.send(request, timeout, header)
        return self.receive()

    def send(self, request: bytes, timeout: float, header: bytes = b"") -> None:
        assert not self.closed
        self.requests.append(with_header(request, header))

    def receive(self) -> Reply:
        return Reply(self._made.SerializeToString() if self.requests[-1] == MAKE else DONE)

    def fileno(self) -> int:
        return -1

    def keep_alive(self, request: bytes, header: bytes = b"") -> None: ...

    def close(self) -> None:
        self.closed = True


class Scene:
    """A direct transport and its opened connections."""

    def __init__(
        self,
        *addresses: str,
        kind: str = "direct",
        target: str = "127.0.0.1:1",
        advertised: str = "",
    ) -> None:
        self.opened: list[Grpc] = []
        self._made = list(addresses), advertised
        self.transport = DirectTransport(target, kind, self._open, Credentials())

    def _open(self, kind: str, _: tuple[str, Credentials]) -> Transport:
        self.opened.append(Grpc(kind, *self._made))
        return self.opened[-1]

    def make(self) -> None:
        assert self.transport.exchange(MAKE, SECONDS).message.startswith(b"\x12")

    def reset(self) -> None:
        assert self.transport.exchange(RESET, SECONDS, HEADER_FIELD) == Reply(DONE)

    @property
    def over_grpc(self) -> bool:
        return [grpc.kind for grpc in self.opened] == ["unary", "stream"]


@pytest.fixture
def listen() -> Iterator[Callable[..., Listener]]:
    """Starts listeners, which are stopped in the end."""
    listeners: list[Listener] = []

    def start(*conversations: Conversation) -> Listener:
        listeners.append(Listener(*conversations))
        return listeners[-1]

    yield start
    for listener in listeners:
        listener.stop()


Listen = Callable[..., Listener]


def closed_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f":{server.getsockname()[1]}"


def test_a_session_is_driven_without_grpc(listen: Listen) -> None:
    scene = Scene(listen(serve).address)
    scene.make()
    for _ in range(3):
        scene.reset()
    assert [grpc.kind for grpc in scene.opened] == ["unary"]
    assert scene.opened[0].closed, "it is not needed any more"
    scene.transport.close()


WRONG = {"refuses": refuse, "is another server": chat, "hangs up": hang_up}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_a_port_at_which_another_server_answers_is_left_for_the_next(
    listen: Listen, wrong: Conversation
) -> None:
    """A forwarded port may lead anywhere."""
    scene = Scene(closed_port(), listen(wrong).address, listen(serve).address)
    scene.make()
    scene.reset()
    assert not scene.over_grpc
    scene.transport.close()


def test_an_address_of_an_unknown_form_is_passed_over(listen: Listen) -> None:
    scene = Scene("carrier-pigeon:coop", "quic:[::1]:x", listen(serve).address)
    scene.make()
    scene.reset()
    assert not scene.over_grpc
    scene.transport.close()


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_without_a_channel_everything_goes_over_a_stream(
    listen: Listen, wrong: Conversation
) -> None:
    listener = listen(wrong)
    scene = Scene(closed_port(), listener.address)
    scene.make()
    scene.reset()
    assert scene.over_grpc
    assert scene.opened[1].requests == [with_header(RESET, HEADER_FIELD)]
    dialled = listener.taken
    scene.reset()
    assert listener.taken == dialled, "it is not tried again and again"
    scene.transport.close()
    assert all(grpc.closed for grpc in scene.opened)


def test_a_port_that_answers_nothing_is_given_up_soon(
    listen: Listen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("envwire.client._transports.direct.dialing._DIAL_SECONDS", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        scene = Scene(f":{silent.getsockname()[1]}")
        scene.make()
        scene.reset()
        assert scene.over_grpc
        scene.transport.close()


def test_of_many_addresses_a_few_are_tried(listen: Listen) -> None:
    listener = listen(hang_up)
    scene = Scene(*[listener.address] * 2000)
    scene.make()
    assert listener.taken == 8
    scene.transport.close()


def test_a_reply_that_trickles_in_is_given_up_as_one_that_does_not_come(listen: Listen) -> None:
    scene = Scene(listen(trickle).address)
    scene.make()
    with pytest.raises(RequestTimeoutError):
        scene.transport.exchange(RESET, 0.1, HEADER_FIELD)
    scene.transport.close()


def test_ports_that_answer_nothing_are_given_up_together(
    listen: Listen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("envwire.client._transports.direct.dialing._ALL_SECONDS", 0.05)
    listener = listen(stay_silent)
    scene = Scene(*[listener.address] * 8)
    scene.make()
    assert listener.taken < 8, "there was no time for the others"
    assert re.search(r"no time for \d more", scene.transport.why_not)
    scene.transport.close()


@pytest.mark.parametrize("kind", ["direct-tcp", "direct-unix"])
def test_a_transport_that_falls_back_to_nothing_says_why(kind: str) -> None:
    scene = Scene("unix-abstract:envwire-nobody-listens", closed_port(), kind=kind)
    with pytest.raises(ServerUnavailableError, match=r"no direct channel to .*refused") as caught:
        scene.make()
    assert caught.value.refused
    scene.transport.close()


def test_no_address_is_said_as_well() -> None:
    scene = Scene(kind="direct-tcp")
    with pytest.raises(ServerUnavailableError, match="none offered") as caught:
        scene.make()
    assert not caught.value.refused
    scene.transport.close()


ADVERTISED = [
    ("nowhere.invalid:1", "127.0.0.1:5", ":PORT"),
    ("127.0.0.1:1", "", ":PORT"),
    ("nowhere.invalid:1", "", "127.0.0.1:PORT"),
    ("nowhere.invalid:1", "elsewhere.invalid:2", "localhost:PORT"),
    ("ipv4:127.0.0.1:1", "", ":PORT"),
]


@pytest.mark.parametrize(("target", "advertised", "form"), ADVERTISED)
def test_a_port_is_dialled_at_the_host_that_the_server_is_known_by(
    listen: Listen, target: str, advertised: str, form: str
) -> None:
    address = form.replace(":PORT", listen(serve).address)
    scene = Scene(address, kind="direct-tcp", target=target, advertised=advertised)
    scene.make()
    scene.reset()
    scene.transport.close()


def test_names_of_another_machine_are_not_dialled() -> None:
    name = "envwire-tests-of-names"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0{name}")
        server.listen()
        server.setblocking(False)
        scene = Scene(f"unix-abstract:{name}", target="elsewhere.invalid:1")
        scene.make()
        scene.reset()
        assert scene.over_grpc
        with pytest.raises(BlockingIOError):
            server.accept()
        scene.transport.close()


def test_after_a_break_the_next_request_opens_another_channel(listen: Listen) -> None:
    listener = listen(hang_up_later, serve)
    scene = Scene(closed_port(), listener.address)
    scene.make()
    with pytest.raises(ServerUnavailableError, match="broke"):
        scene.reset()
    scene.reset()
    assert listener.taken == 2
    assert not scene.over_grpc
    scene.transport.close()


def test_an_end_reason_that_is_told_when_it_dials_again_is_the_answer(listen: Listen) -> None:
    scene = Scene(listen(hang_up_later, refuse).address)
    scene.make()
    with pytest.raises(ServerUnavailableError):
        scene.reset()
    reply = pb.InteractResponse.FromString(scene.transport.exchange(RESET, SECONDS).message)
    assert reply.error.message == "never heard of it"
    assert not scene.over_grpc
    scene.transport.close()


@pytest.mark.parametrize("conversations", [(lose,), (hang_up, lose)])
def test_a_process_that_dies_before_the_first_dial_is_told_where_no_stream_can_tell_it(
    listen: Listen, conversations: tuple[Conversation, ...]
) -> None:
    scene = Scene(listen(*conversations).address, kind="direct-tcp")
    scene.make()
    reply = pb.InteractResponse.FromString(scene.transport.exchange(RESET, SECONDS).message)
    assert reply.error.message == "it died"
    scene.transport.close()


def test_a_request_without_an_answer_times_out_and_ends_the_channel(listen: Listen) -> None:
    def stall(connection: socket.socket) -> None:
        hang_up_later(connection)
        assert connection.recv(1) == b""

    scene = Scene(listen(stall, serve).address)
    scene.make()
    with pytest.raises(RequestTimeoutError, match=r"0\.05 s"):
        scene.transport.exchange(RESET, 0.05)
    scene.reset()
    scene.transport.close()


@pytest.mark.parametrize("size", [LIMIT + 1, LIMIT + 10_000])
def test_a_request_over_the_limit_is_refused_here_and_the_channel_goes_on(
    listen: Listen, size: int
) -> None:
    listener = listen(serve)
    scene = Scene(listener.address)
    scene.make()
    with pytest.raises(InvalidRequestError, match=f"{size} bytes, and {LIMIT}"):
        scene.transport.exchange(b"\x1a" + bytes(size - 1), SECONDS)
    scene.reset()
    assert listener.taken == 1
    scene.transport.close()


def test_control_requests_go_to_the_front_while_a_channel_is_open(listen: Listen) -> None:
    scene = Scene(listen(serve).address)
    scene.make()
    renewal = pb.InteractRequest(renew_lease=pb.RenewLeaseRequest()).SerializeToString()
    scene.transport.exchange(renewal, SECONDS)
    assert scene.opened[1].requests == [renewal]
    scene.reset()
    assert scene.opened[1].requests == [renewal]
    scene.transport.close()


def test_halves_of_an_exchange_and_what_to_wait_on(listen: Listen) -> None:
    scene = Scene(listen(serve).address)
    assert scene.transport.fileno() == -1
    scene.transport.send(MAKE, SECONDS)
    assert scene.transport.fileno() == ARRIVED
    scene.transport.receive()
    scene.transport.send(RESET, SECONDS)
    assert scene.transport.fileno() >= 0
    assert scene.transport.receive() == Reply(DONE)
    scene.transport.close()
    scene.transport.close()


@pytest.mark.parametrize("halves", [False, True])
def test_a_request_is_sent_again_until_it_is_answered(
    listen: Listen, monkeypatch: pytest.MonkeyPatch, halves: bool
) -> None:
    monkeypatch.setattr("envwire.client._session.resuming._FIRST_PAUSE", 0.001)
    listener = listen(hang_up_later, hang_up, hang_up_later, chat, serve)
    scene = Scene(listener.address, kind="direct-tcp")
    scene.make()
    driver = driver_over(scene.transport, lease=SECONDS, timeout=SECONDS)
    if halves:
        driver.begin(ANYTHING)
        assert driver.finish() == DONE
    else:
        assert driver.serve(ANYTHING) == DONE
    assert listener.taken == 5
    assert driver.session.retries.resumed == 1
    driver.kill()


def test_where_nobody_listens_any_more_is_not_tried_for_a_whole_lease(
    listen: Listen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("envwire.client._session.resuming._REFUSED_SECONDS", 0.05)
    listener = listen(hang_up_later)
    scene = Scene(listener.address)
    scene.make()
    listener.stop()
    driver = driver_over(scene.transport, lease=1000.0, timeout=SECONDS)
    with pytest.raises(ServerUnavailableError, match=r"nothing listens at .* any more"):
        driver.serve(ANYTHING)
    driver.kill()


def test_messages_name_the_server_of_the_session_not_the_gateway_that_was_asked(
    listen: Listen, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("envwire.client._session.resuming._REFUSED_SECONDS", 0.5)
    listener = listen(hang_up_later)
    server = f"127.0.0.1{listener.address}"
    scene = Scene(listener.address, target="127.0.0.1:50050", advertised=server)
    scene.make()
    with pytest.raises(ServerUnavailableError, match=f"direct channel to {server} broke"):
        scene.reset()
    listener.stop()
    driver = driver_over(scene.transport, lease=SECONDS, timeout=SECONDS)
    with pytest.raises(ServerUnavailableError, match=f"nothing listens at {server} any more"):
        driver.serve(ANYTHING)
    driver.kill()
    assert server in caplog.text
    assert "50050" not in caplog.text
