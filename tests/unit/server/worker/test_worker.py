"""A session process over its sockets, in a thread: what goes wrong on one channel is no other session's trouble."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Sequence
from threading import Thread
from typing import Any

import numpy as np
import pytest

import envwire.envs
from envwire.codec import encode_mapping, encode_value
from envwire.server._hosting.libraries import load_catalogue
from envwire.server._ipc.frames import DOOR, Frame, FrameSocket, pack_header
from envwire.server._ipc.message_slots import REPLIES, REQUESTS, Shelf
from envwire.server._ipc.scoreboard import MARKS, make_board
from envwire.server._worker.endpoints import take_ends
from envwire.server._worker.worker import Worker
from envwire.server.config import ServerConfig
from envwire.v1 import direct_pb2
from envwire.v1 import environment_pb2 as pb
from envwire.wire.frames import HEADER, HEADER_BYTES
from tests.direct.hosted_frames import FRAMES
from tests.faults.scene import eventually

PLACES = 4
FRAMES_MODULE = "tests.direct.hosted_frames"


class Front:
    """The other ends of a worker's sockets: what the front would say can be said byte by byte."""

    def __init__(self, limit: int = 5000) -> None:
        config = ServerConfig(
            ("CartPole-v1", FRAMES), sessions_per_process=PLACES, max_message_bytes=limit
        )
        self.link, link = socket.socketpair()
        self.door, door = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        page, self.board = make_board(PLACES)
        self.shelf = Shelf(os.dup(page), self.board, REQUESTS)
        self.frames = FrameSocket(self.link, self.shelf)
        self._theirs = take_ends(link.detach(), door.detach(), page, PLACES)
        catalogue = load_catalogue(
            config.environments, imports=(FRAMES_MODULE,), wrappers=(), version="test"
        )
        worker = Worker(self._theirs, catalogue, config)
        self._clients: list[socket.socket] = []
        self._thread = Thread(target=worker.run)
        self._thread.start()
        self.link.settimeout(10.0)

    def ask(self, place: int, request: pb.InteractRequest) -> pb.InteractResponse:
        self.frames.send(place, [request.SerializeToString()])
        return self.hear(place)

    def hear(self, place: int) -> pb.InteractResponse:
        frame = self.frames.receive()
        assert frame is not None
        assert frame.place == place
        return pb.InteractResponse.FromString(frame.message)

    def make(self, place: int) -> None:
        assert self.ask(place, MAKE).HasField("make")

    def open(self, place: int) -> socket.socket:
        """Hands a connection over, hears the welcome, and returns the client's end."""
        ours, theirs = socket.socketpair()
        ours.settimeout(10.0)
        with theirs:
            socket.send_fds(self.door, [DOOR.pack(place, False)], [theirs.fileno()])
        self._clients.append(ours)
        return ours

    def stop(self) -> None:
        for client in self._clients:
            client.close()
        assert eventually(lambda: not any(map(self.board.connected, range(PLACES))))
        self.link.shutdown(socket.SHUT_RDWR)
        self._thread.join(10.0)
        assert not self._thread.is_alive()
        self._theirs.close()
        for end in (self.link, self.door, self.shelf, self.board):
            end.close()


MAKE = pb.InteractRequest(make=pb.MakeRequest(env_id="CartPole-v1"))


def reset(sequence: int) -> pb.InteractRequest:
    return pb.InteractRequest(reset=pb.ResetRequest(sequence=sequence))


def close(sequence: int) -> pb.InteractRequest:
    return pb.InteractRequest(close=pb.CloseRequest(sequence=sequence))


def framed(*requests: pb.InteractRequest) -> bytes:
    raws = [request.SerializeToString() for request in requests]
    return b"".join(HEADER.pack(len(raw), 0, 0) + raw for raw in raws)


def hear(client: socket.socket, kind: Any = pb.InteractResponse) -> Any:
    header = client.recv(HEADER_BYTES, socket.MSG_WAITALL)
    length, where, attached = HEADER.unpack(header)
    assert (where, attached) == (0, 0)
    return kind.FromString(client.recv(length, socket.MSG_WAITALL))


def welcomed(client: socket.socket) -> socket.socket:
    response = hear(client, direct_pb2.HelloResponse)
    assert response.welcome.max_message_bytes == 5000
    return client


def ask(client: socket.socket, request: pb.InteractRequest) -> Any:
    client.sendall(framed(request))
    return hear(client)


@pytest.fixture
def front() -> Iterator[Front]:
    made = Front()
    made.make(0)
    made.make(1)
    yield made
    made.stop()


def test_channels_and_the_link_serve_one_session(front: Front) -> None:
    client = welcomed(front.open(0))
    assert ask(client, reset(1)).HasField("reset")
    assert front.ask(0, reset(2)).HasField("reset")
    assert ask(client, reset(3)).HasField("reset")
    assert front.ask(0, reset(3)).HasField("reset"), "the kept reply"
    assert front.board.connected(0)
    assert not front.board.connected(1)
    assert front.ask(0, reset(4)).HasField("reset")
    assert front.board.served(0) >= 4, "each is noted before the next is served"


def test_a_second_channel_replaces_the_first(front: Front) -> None:
    first = welcomed(front.open(0))
    second = welcomed(front.open(0))
    assert first.recv(1) == b""
    assert ask(second, reset(1)).HasField("reset")
    assert front.board.connected(0)


def test_a_channel_to_no_session_is_closed(front: Front) -> None:
    assert front.open(3).recv(1) == b""
    assert ask(welcomed(front.open(0)), reset(1)).HasField("reset")


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        HEADER.pack(5001, 0, 0),
        HEADER.pack(1, 0, 1),
        HEADER.pack(1, 1, 0),
    ],
)
def test_a_channel_that_breaks_the_contract_is_closed_and_its_session_is_not(
    front: Front, sent: bytes
) -> None:
    client = welcomed(front.open(0))
    assert ask(client, reset(1)).HasField("reset")
    client.sendall(sent)
    assert client.recv(1) == b""
    assert ask(welcomed(front.open(0)), reset(2)).HasField("reset")


def test_a_request_that_cannot_be_read_is_answered(front: Front) -> None:
    client = welcomed(front.open(0))
    client.sendall(HEADER.pack(2, 0, 0) + b"\xff\xff")
    assert "not an InteractRequest" in hear(client).error.message
    client.sendall(HEADER.pack(0, 0, 0))
    assert "without content" in hear(client).error.message
    assert ask(client, reset(1)).HasField("reset")


def test_several_requests_in_one_packet_are_answered_in_order(front: Front) -> None:
    client = welcomed(front.open(0))
    client.sendall(framed(reset(1), reset(2), reset(4), reset(3)))
    assert [hear(client).WhichOneof("response") for _ in range(4)] == [
        "reset",
        "reset",
        "error",
        "reset",
    ]


def notice(place: int) -> bytes:
    return pack_header(place, 0)


def test_a_close_frees_the_slot_before_it_is_answered(front: Front) -> None:
    client = welcomed(front.open(0))
    client.sendall(framed(close(1)))
    assert front.frames.receive() == Frame(0, b"")
    client.settimeout(0.05)
    with pytest.raises(TimeoutError):  # it waits for the front
        client.recv(1)
    client.settimeout(10.0)
    front.link.sendall(notice(0))
    assert hear(client).HasField("close")
    assert client.recv(1) == b""
    assert not front.board.connected(0)


def test_what_follows_a_close_in_its_packet_is_not_served_and_harms_nobody(front: Front) -> None:
    client, neighbour = welcomed(front.open(0)), welcomed(front.open(1))
    client.sendall(framed(close(1), reset(2)))
    assert front.frames.receive() == Frame(0, b"")
    front.link.sendall(notice(0))
    assert hear(client).HasField("close")
    assert client.recv(1) == b""
    assert ask(neighbour, reset(1)).HasField("reset")


@pytest.mark.parametrize(
    "before", [b"", reset(1).SerializeToString()], ids=["nothing", "a request"]
)
def test_requests_that_come_with_the_notice_are_served(front: Front, before: bytes) -> None:
    """The front may write a neighbour's request at the same time: both arrive in one packet."""
    client = welcomed(front.open(0))
    client.sendall(framed(close(1)))
    assert front.frames.receive() == Frame(0, b"")
    first = pack_header(1, len(before)) + before if before else b""
    later = reset(2 if before else 1).SerializeToString()
    front.link.sendall(first + notice(0) + notice(0) + pack_header(1, len(later)) + later)
    assert hear(client).HasField("close")
    for _ in range(1 + bool(before)):
        assert front.hear(1).HasField("reset")


def test_a_place_can_be_used_again(front: Front) -> None:
    for sequence in range(3):
        client = welcomed(front.open(0))
        assert ask(client, reset(1)).HasField("reset")
        client.sendall(framed(close(2)))
        assert front.frames.receive() == Frame(0, b"")
        front.link.sendall(notice(0) * 2)
        assert hear(client).HasField("close"), sequence
        front.make(0)


def test_a_packet_without_its_connection_does_not_shut_the_door(front: Front) -> None:
    """A process that has too many files open gets the packet only."""
    front.door.send(DOOR.pack(0, False))
    assert ask(welcomed(front.open(0)), reset(1)).HasField("reset")


def test_a_client_that_leaves_before_its_welcome(front: Front) -> None:
    front.open(0).close()
    assert ask(welcomed(front.open(0)), reset(1)).HasField("reset")


LARGE, OVER = 200_000, 400_000


def make_frames(size: int) -> pb.InteractRequest:
    request = pb.InteractRequest(make=pb.MakeRequest(env_id=FRAMES))
    encode_mapping({"shape": [size]}, request.make.kwargs)
    return request


def step(sequence: int) -> pb.InteractRequest:
    request = pb.InteractRequest(step=pb.StepRequest(sequence=sequence))
    encode_value(1, request.step.action)
    return request


@pytest.fixture
def relay() -> Iterator[Front]:
    made = Front(limit=300_000)
    for place, size in enumerate((LARGE, OVER)):
        assert made.ask(place, make_frames(size)).HasField("make")
    yield made
    made.stop()


@pytest.mark.parametrize("taken", [(), REPLIES], ids=["shelf", "link"])
def test_a_large_reply_is_whole_and_kept_whichever_way_it_comes(
    relay: Front, taken: Sequence[int]
) -> None:
    local = envwire.envs.make(FRAMES, shape=[LARGE])
    for place in taken:
        relay.board.mark(place, True)
    assert relay.ask(0, reset(1)).HasField("reset")
    local.reset()
    for sequence in range(2, 5):
        first = relay.ask(0, step(sequence))
        assert first == relay.ask(0, step(sequence))
        assert first.step.reward == local.step(1)[1]
        assert len(first.step.observation.array.data) == LARGE
    assert [place for place in range(MARKS) if relay.board.marked(place)] == list(taken)


def test_a_large_request_is_read_from_the_shelf(relay: Front) -> None:
    request = reset(1)
    encode_mapping({"noise": np.zeros(LARGE)[: LARGE // 4]}, request.reset.options)
    assert relay.ask(0, request).HasField("reset")
    assert not any(map(relay.board.marked, REQUESTS))


def test_a_reply_over_the_limit_is_an_error_and_the_session_goes_on(relay: Front) -> None:
    assert "exceeds the server's limit of 300000" in relay.ask(1, reset(1)).error.message
    assert relay.ask(1, close(2)).HasField("close")
    assert relay.ask(0, reset(1)).HasField("reset")
