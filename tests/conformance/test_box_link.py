"""The suite's own client of a mailbox, which has to be correct when a server is not."""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from envwire.conformance.outcomes import FailedError, SkippedError
from envwire.conformance.raw import Access, BoxLink, DirectLink, Trace
from envwire.conformance.raw.direct_link import HEADER, PREAMBLE, UNIX, WAKE, frame
from envwire.conformance.raw.mailbox import Mailbox, resizable
from envwire.v1 import direct_pb2
from envwire.v1 import environment_pb2 as pb

SIZE = 256
ANSWER = pb.InteractResponse(close=pb.CloseResponse())
REQUEST = pb.InteractRequest(close=pb.CloseRequest(sequence=7))
WELCOME = direct_pb2.Welcome(max_message_bytes=1000, mailbox=direct_pb2.Mailbox(box_bytes=SIZE))


def shared(size: int = 2 * SIZE, seals: int = 0) -> int:
    """Returns the descriptor of memory."""
    descriptor = os.memfd_create("boxes", os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, size)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
    return descriptor


class Peer:
    """A server of one channel, which a test drives step by step."""

    def __init__(self, seconds: float) -> None:
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind("")
        self._listener.listen()
        name = self._listener.getsockname()[1:].decode()
        self.link = DirectLink(Access("localhost:1"), "", f"{UNIX}{name}", seconds, Trace())
        self.socket, _ = self._listener.accept()
        self._descriptors = [shared()]
        self.memory = mmap.mmap(self._descriptors[0], 2 * SIZE)
        self.memory[1] = self.memory[SIZE + 1] = 1

    def welcome(self, welcome: direct_pb2.Welcome = WELCOME, *descriptors: int) -> None:
        """Sends a welcome with these descriptors, or with that of the boxes."""
        sent = frame(direct_pb2.HelloResponse(welcome=welcome))
        socket.send_fds(self.socket, [sent], list(descriptors or self._descriptors))
        self.link.receive_hello()
        for descriptor in descriptors:
            os.close(descriptor)

    def put(self, data: bytes) -> None:
        self.memory[SIZE + 16 : SIZE + 16 + len(data)] = data
        self.memory[SIZE] = (self.memory[SIZE] + 1) % 256

    def close(self) -> None:
        self.link.close()
        self.socket.close()
        self._listener.close()
        self.memory.close()
        os.close(self._descriptors[0])


@pytest.fixture
def peer() -> Iterator[Peer]:
    made = Peer(0.2)
    yield made
    made.close()


@pytest.fixture
def boxes(peer: Peer) -> BoxLink:
    peer.welcome()
    assert peer.link.mailbox is not None
    return BoxLink(peer.link, peer.link.mailbox, 0.2)


def test_a_request_is_where_the_page_says(peer: Peer, boxes: BoxLink) -> None:
    peer.memory[1] = 0
    boxes.put(REQUEST)
    sent = frame(REQUEST)
    assert peer.memory[: 16 + len(sent)] == bytes([1, 0]) + bytes(14) + sent
    assert peer.link.all_read()
    for number in range(2, 300):
        boxes.put(REQUEST)
        assert boxes.mailbox.numbers == (number % 256, 0)


def test_a_server_that_sleeps_is_woken(peer: Peer, boxes: BoxLink) -> None:
    boxes.put(REQUEST)
    assert not peer.link.all_read()
    assert peer.socket.recv(100) == WAKE


def test_an_answer_is_taken_out_of_the_box_once(peer: Peer, boxes: BoxLink) -> None:
    boxes.mailbox.look_out()
    assert peer.memory[SIZE + 1] == 0
    for _ in range(300):
        peer.put(frame(ANSWER))
        assert boxes.receive().kind == "close"
        assert boxes.in_box
    with pytest.raises(FailedError, match="none came in time"):
        boxes.receive()


def test_an_answer_on_the_socket_is_seen_by_a_client_that_looks(peer: Peer, boxes: BoxLink) -> None:
    boxes.mailbox.look_out()
    peer.socket.sendall(WAKE + frame(ANSWER))
    assert boxes.receive().kind == "close"
    assert (boxes.in_box, boxes.wakes) == (False, 1)


def test_an_answer_that_came_before_the_client_fell_asleep_is_taken(
    peer: Peer, boxes: BoxLink
) -> None:
    boxes.mailbox.look_out()
    peer.put(frame(ANSWER))
    assert boxes.fall_asleep().kind == "close"
    assert peer.memory[SIZE + 1] == 1


def test_a_client_that_sleeps_looks_when_it_is_woken(peer: Peer, boxes: BoxLink) -> None:
    peer.put(frame(ANSWER))
    with pytest.raises(FailedError, match="none came in time"):
        boxes.receive()
    peer.socket.sendall(WAKE)
    assert boxes.receive().kind == "close"
    assert (boxes.in_box, boxes.wakes) == (True, 1)


def test_the_last_answer_is_found_behind_the_end(peer: Peer, boxes: BoxLink) -> None:
    peer.put(frame(ANSWER))
    peer.socket.close()
    assert boxes.receive().kind == "close"
    with pytest.raises(FailedError, match="its end"):
        boxes.receive()


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (HEADER.pack(SIZE, 0, 0), "the bytes of the frame in the box"),
        (HEADER.pack(2, 0, 64) + bytes(2), "the bytes of attachments"),
        (HEADER.pack(2, 1, 64), "as no memory is shared"),
    ],
)
def test_what_is_no_frame_of_a_box_is_a_failure(
    peer: Peer, boxes: BoxLink, data: bytes, says: str
) -> None:
    boxes.mailbox.look_out()
    peer.put(data)
    with pytest.raises(FailedError, match=says):
        boxes.receive()


@contextlib.contextmanager
def answering(peer: Peer, looks_after: int) -> Iterator[None]:
    """Answers on the socket, and inspects the box after a number of answers."""

    def serve() -> None:
        for number in range(10**6):
            try:
                if not peer.socket.recv(100):
                    return
                peer.socket.sendall(frame(ANSWER))
            except OSError:
                return
            if number + 1 == looks_after:
                peer.memory[1] = 0

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield
    finally:
        peer.socket.shutdown(socket.SHUT_RDWR)
        thread.join()


def test_the_last_request_is_repeated_until_the_server_looks(peer: Peer, boxes: BoxLink) -> None:
    with answering(peer, 3):
        boxes.exchange(REQUEST, 1.0)
        boxes.await_server()
        assert boxes.mailbox.sleepers[0] == 0


def test_a_server_need_not_look(peer: Peer, boxes: BoxLink) -> None:
    with answering(peer, 0):
        boxes.exchange(REQUEST, 1.0)
        with pytest.raises(SkippedError, match="never looks"):
            boxes.await_server()


def test_the_mailbox_is_the_second_of_two_descriptors(peer: Peer) -> None:
    both = direct_pb2.Welcome(
        shared_memory=direct_pb2.SharedMemory(slots=1, slot_bytes=64, first_slot=64),
        mailbox=WELCOME.mailbox,
    )
    first, second = shared(128), shared()
    os.pwrite(second, b"\x05", 0)
    peer.welcome(both, first, second)
    assert peer.link.memory is not None
    assert peer.link.mailbox is not None
    assert peer.link.mailbox.numbers == (5, 0)
    assert len(peer.link.memory) == 128


@pytest.mark.parametrize("size", [SIZE, 2 * SIZE - 1])
def test_memory_that_is_too_small_is_no_mailbox(peer: Peer, size: int) -> None:
    peer.welcome(WELCOME, shared(size))
    assert peer.link.mailbox is None


def test_descriptors_that_the_welcome_does_not_name_are_closed(peer: Peer) -> None:
    before = set(os.listdir("/proc/self/fd"))
    peer.welcome(direct_pb2.Welcome(), shared())
    assert set(os.listdir("/proc/self/fd")) == before
    assert peer.link.mailbox is None


def test_a_hello_asks_for_a_mailbox(peer: Peer) -> None:
    def greet() -> Any:
        received = peer.socket.recv(1000)
        peer.socket.sendall(frame(direct_pb2.HelloResponse()))
        return received

    asked: list[bytes] = []
    thread = threading.Thread(target=lambda: asked.append(greet()))
    thread.start()
    peer.link.hello(pb.SessionHeader(), mailbox=True)
    thread.join()
    expected = direct_pb2.HelloRequest(header=pb.SessionHeader(), mailbox=True)
    assert asked == [PREAMBLE + frame(expected)]


@pytest.mark.parametrize(
    ("seals", "changes"),
    [
        (0, True),
        (fcntl.F_SEAL_GROW, True),
        (fcntl.F_SEAL_SHRINK, True),
        (fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK, False),
    ],
)
def test_memory_is_resizable_without_both_seals(seals: int, changes: bool) -> None:
    mailbox = Mailbox(shared(seals=seals), SIZE)
    assert mailbox.resizable is changes
    mailbox.close()


def test_a_file_without_seals_is_resizable(tmp_path: Any) -> None:
    with (tmp_path / "boxes").open("wb") as file:
        assert resizable(file.fileno())
