"""A session process over its sockets, in a thread: an error on one channel does not affect other sessions."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator, Sequence
from threading import Thread
from typing import Any

import numpy as np
import pytest

import envwire.envs
from envwire.codec import decode_fault, encode_mapping, encode_value, envwire_family
from envwire.server._front.sessions.liveness import ConnectionMonitor
from envwire.server._hosting.libraries import load_catalogue
from envwire.server._ipc.frames import (
    ADMIT,
    SLOT,
    ChannelUse,
    Frame,
    FrameError,
    FrameSocket,
    Kind,
    pack_header,
)
from envwire.server._ipc.message_slots import REPLIES, REQUESTS, MessageSlots
from envwire.server._ipc.scoreboard import MARKS, make_scoreboard
from envwire.server._worker.worker import Worker, WorkerEndpoints
from envwire.server.config import ServerConfig
from envwire.v1 import direct_pb2
from envwire.v1 import environment_pb2 as pb
from envwire.wire.frames import HEADER, HEADER_BYTES
from tests.direct.hosted_frames import FRAMES
from tests.faults.scene import eventually

PLACES = 4
FRAMES_MODULE = "tests.direct.hosted_frames"


class Front:
    """The other ends of a worker's sockets, over which a test can send the front's bytes one by one."""

    def __init__(self, limit: int = 5000) -> None:
        config = ServerConfig(
            ("CartPole-v1", FRAMES), sessions_per_process=PLACES, max_message_bytes=limit
        )
        self.link, link = socket.socketpair()
        self.control_socket, control_socket = socket.socketpair(
            socket.AF_UNIX, socket.SOCK_SEQPACKET
        )
        page, self.scoreboard = make_scoreboard(PLACES)
        self.message_slots = MessageSlots(os.dup(page), self.scoreboard, REQUESTS)
        self.frames = FrameSocket(self.link, self.message_slots)
        self._theirs = WorkerEndpoints(link.detach(), control_socket.detach(), page, PLACES)
        catalogue = load_catalogue(config.environments, imports=(FRAMES_MODULE,), wrappers=())
        worker = Worker(self._theirs, catalogue, config)
        self._clients: list[socket.socket] = []
        self._present: dict[int, ConnectionMonitor] = {}
        self._thread = Thread(target=worker.run)
        self._thread.start()
        self.link.settimeout(10.0)

    def ask(self, number: int, request: pb.InteractRequest) -> pb.InteractResponse:
        """Sends a client's request and returns the reply."""
        self.frames.send(Kind.CLIENT, number, [request.SerializeToString()])
        return self.hear(number)

    def hear(self, number: int) -> pb.InteractResponse:
        frame = self.frames.receive()
        assert frame is not None
        assert frame[:2] == (Kind.REPLY, number)
        return pb.InteractResponse.FromString(frame.message)

    def order(self, number: int, slot: int, request: pb.MakeRequest) -> pb.InteractResponse:
        """Orders a session to be made and returns the reply."""
        self.frames.send(Kind.MAKE, number, [SLOT.pack(slot), request.SerializeToString()])
        return self.hear(number)

    def make(self, number: int, slot: int | None = None) -> None:
        slot = number if slot is None else slot
        assert self.order(number, slot, CARTPOLE).HasField("make")

    def open(self, number: int) -> socket.socket:
        """Hands a connection over, hears the welcome, and returns the client's end."""
        ours, theirs = socket.socketpair()
        ours.settimeout(10.0)
        with theirs:
            self.forget(number)
            self._present[number] = ConnectionMonitor(theirs)
            socket.send_fds(
                self.control_socket, [ADMIT.pack(number, *ChannelUse())], [theirs.fileno()]
            )
        self._clients.append(ours)
        return ours

    def forget(self, number: int) -> None:
        if number in self._present:
            self._present.pop(number).close()

    def connected(self, number: int) -> bool:
        """Tells whether the last connection of a session is open still, as the front sees it."""
        return number in self._present and self._present[number].is_open()

    def stop(self) -> None:
        for client in self._clients:
            client.close()
        assert eventually(lambda: not any(map(self.connected, range(PLACES))))
        self.link.shutdown(socket.SHUT_RDWR)
        self._thread.join(60.0)
        assert not self._thread.is_alive()
        self._theirs.close()
        for end in (self.link, self.control_socket, self.message_slots, self.scoreboard):
            end.close()


CARTPOLE = pb.MakeRequest(env_id="CartPole-v1")


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


def welcomed(client: socket.socket, limit: int = 5000) -> socket.socket:
    response = hear(client, direct_pb2.HelloResponse)
    assert response.welcome.max_message_bytes == limit
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
    assert front.connected(0)
    assert not front.connected(1)
    assert front.ask(0, reset(4)).HasField("reset")
    assert front.scoreboard.served(0) >= 4, "each is noted before the next is served"


def test_a_second_channel_replaces_the_first(front: Front) -> None:
    first = welcomed(front.open(0))
    second = welcomed(front.open(0))
    assert first.recv(1) == b""
    assert ask(second, reset(1)).HasField("reset")
    assert front.connected(0)


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


def ack(number: int) -> bytes:
    return pack_header(Kind.ACK, number)


def closed(number: int) -> Frame:
    return Frame(Kind.CLOSED, number, b"")


def test_a_close_frees_the_slot_before_it_is_answered(front: Front) -> None:
    client = welcomed(front.open(0))
    client.sendall(framed(close(1)))
    assert front.frames.receive() == closed(0)
    client.settimeout(0.05)
    with pytest.raises(TimeoutError):  # it waits for the front
        client.recv(1)
    client.settimeout(10.0)
    front.link.sendall(ack(0))
    assert hear(client).HasField("close")
    assert client.recv(1) == b""
    assert not front.connected(0)


def test_what_follows_a_close_in_its_packet_is_not_served_and_harms_nobody(front: Front) -> None:
    client, neighbour = welcomed(front.open(0)), welcomed(front.open(1))
    client.sendall(framed(close(1), reset(2)))
    assert front.frames.receive() == closed(0)
    front.link.sendall(ack(0))
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
    assert front.frames.receive() == closed(0)
    first = pack_header(Kind.CLIENT, 1, len(before)) + before if before else b""
    later = reset(2 if before else 1).SerializeToString()
    behind = pack_header(Kind.CLIENT, 1, len(later)) + later
    front.link.sendall(first + ack(0) + ack(0) + behind)
    assert hear(client).HasField("close")
    for _ in range(1 + bool(before)):
        assert front.hear(1).HasField("reset")


def test_a_client_that_leaves_behind_its_close_holds_up_nobody(front: Front) -> None:
    """What came with the front's answer was read already, so that no poll would tell of it."""
    client = welcomed(front.open(0))
    client.sendall(framed(close(1)))
    assert front.frames.receive() == closed(0)
    client.close()
    order = SLOT.pack(0) + CARTPOLE.SerializeToString()
    front.link.sendall(ack(0) + pack_header(Kind.MAKE, PLACES, len(order)) + order)
    assert front.hear(PLACES).HasField("make")


def test_a_slot_can_be_used_again(front: Front) -> None:
    for number in (0, *range(PLACES, PLACES + 3)):
        client = welcomed(front.open(number))
        assert ask(client, reset(1)).HasField("reset")
        client.sendall(framed(close(2)))
        assert front.frames.receive() == closed(number)
        front.link.sendall(ack(number) * 2)
        assert hear(client).HasField("close"), number
        front.make(max(number + 1, PLACES), slot=0)


def test_a_packet_without_its_connection_does_not_close_the_control_socket(front: Front) -> None:
    """A process that has too many files open gets the packet only."""
    front.control_socket.send(ADMIT.pack(0, *ChannelUse()))
    assert ask(welcomed(front.open(0)), reset(1)).HasField("reset")


def test_a_client_that_leaves_before_its_welcome(front: Front) -> None:
    front.open(0).close()
    assert ask(welcomed(front.open(0)), reset(1)).HasField("reset")


LARGE, OVER = 200_000, 400_000


def make_frames(size: int) -> pb.MakeRequest:
    request = pb.MakeRequest(env_id=FRAMES)
    encode_mapping({"shape": [size]}, request.kwargs)
    return request


def step(sequence: int) -> pb.InteractRequest:
    request = pb.InteractRequest(step=pb.StepRequest(sequence=sequence))
    encode_value(1, request.step.action)
    return request


@pytest.fixture
def relay() -> Iterator[Front]:
    made = Front(limit=300_000)
    for number, size in enumerate((LARGE, OVER)):
        assert made.order(number, number, make_frames(size)).HasField("make")
    yield made
    made.stop()


@pytest.mark.parametrize("taken", [(), REPLIES], ids=["slots", "link"])
def test_a_large_reply_is_whole_and_kept_whichever_way_it_comes(
    relay: Front, taken: Sequence[int]
) -> None:
    local = envwire.envs.make(FRAMES, shape=[LARGE])
    for place in taken:
        relay.scoreboard.mark(place, True)
    assert relay.ask(0, reset(1)).HasField("reset")
    local.reset()
    for sequence in range(2, 5):
        first = relay.ask(0, step(sequence))
        assert first == relay.ask(0, step(sequence))
        assert first.step.reward == local.step(1)[1]
        assert len(first.step.observation.array.data) == LARGE
    assert [place for place in range(MARKS) if relay.scoreboard.marked(place)] == list(taken)


def test_a_large_request_is_read_from_its_slot(relay: Front) -> None:
    request = reset(1)
    encode_mapping({"noise": np.zeros(LARGE)[: LARGE // 4]}, request.reset.options)
    assert relay.ask(0, request).HasField("reset")
    assert not any(map(relay.scoreboard.marked, REQUESTS))


def test_a_reply_over_the_limit_is_an_error_and_the_session_goes_on(relay: Front) -> None:
    assert "exceeds the server's limit of 300000" in relay.ask(1, reset(1)).error.message
    assert relay.ask(1, close(2)).HasField("close")
    assert relay.frames.receive() == closed(1)
    assert relay.ask(0, reset(1)).HasField("reset")


def fault(reply: pb.InteractResponse) -> str:
    return decode_fault(reply.error, envwire_family()).reason.value


FORBIDDEN = pb.InteractRequest(make=CARTPOLE)


def test_what_a_client_sends_makes_nothing(front: Front) -> None:
    """Whatever it says, and whether its session is there, over, or was never made."""
    client = welcomed(front.open(0))
    assert fault(ask(client, FORBIDDEN)) == "MALFORMED_REQUEST"
    assert fault(front.ask(0, FORBIDDEN)) == "MALFORMED_REQUEST"
    assert fault(front.ask(3, FORBIDDEN)) == "SESSION_CLOSED"
    assert front.ask(1, close(1)).HasField("close")
    assert front.frames.receive() == closed(1)
    assert fault(front.ask(1, FORBIDDEN)) == "SESSION_CLOSED"
    assert front.open(1).recv(1) == b"", "there is no session to connect to"
    assert front.ask(0, reset(1)).HasField("reset")


def test_a_step_with_a_make_behind_it_makes_nothing_even_behind_a_close(front: Front) -> None:
    """The attack: a step's header for the front, a Make for the process, and a Close in the same write."""
    client = welcomed(front.open(0))
    client.sendall(framed(close(1)))
    assert front.frames.receive() == closed(0)
    attack = step(2).SerializeToString() + FORBIDDEN.SerializeToString()
    front.link.sendall(pack_header(Kind.CLIENT, 0, len(attack)) + attack + ack(0))
    assert hear(client).HasField("close")
    assert fault(front.hear(0)) == "SESSION_CLOSED"
    front.make(PLACES, slot=0)
    assert front.ask(PLACES, reset(1)).HasField("reset"), "the slot's next session is its own"


def test_what_waits_behind_a_close_is_not_for_the_slots_next_session(front: Front) -> None:
    client = welcomed(front.open(0))
    client.sendall(framed(close(1)))
    assert front.frames.receive() == closed(0)
    late = reset(1).SerializeToString()
    order = SLOT.pack(0) + CARTPOLE.SerializeToString()
    front.link.sendall(
        pack_header(Kind.CLIENT, 0, len(late))
        + late
        + ack(0)
        + pack_header(Kind.MAKE, PLACES, len(order))
        + order
        + pack_header(Kind.CLIENT, PLACES, len(late))
        + late
    )
    assert hear(client).HasField("close")
    assert fault(front.hear(0)) == "SESSION_CLOSED"
    assert front.hear(PLACES).HasField("make")
    assert front.hear(PLACES).HasField("reset")


@pytest.mark.parametrize("kind", [Kind.REPLY, Kind.CLOSED, Kind.RENDERED])
def test_a_process_takes_no_frame_that_only_processes_send(
    front: Front, kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    raised: list[threading.ExceptHookArgs] = []
    monkeypatch.setattr(threading, "excepthook", raised.append)
    front.frames.send(kind, 0)
    assert eventually(lambda: bool(raised))
    (told,) = raised
    assert isinstance(told.exc_value, FrameError)
    assert str(told.exc_value).startswith(f"a frame of kind {int(kind)} ")


def test_an_end_is_told_once_and_ends_what_waits(front: Front) -> None:
    late = reset(1).SerializeToString()
    front.link.sendall(
        pack_header(Kind.END, 0)
        + pack_header(Kind.CLIENT, 0, len(late))
        + late
        + pack_header(Kind.END, 0)
    )
    assert front.frames.receive() == closed(0)
    assert fault(front.hear(0)) == "SESSION_CLOSED"
    assert front.ask(1, reset(1)).HasField("reset")


def test_an_end_that_crosses_a_close_acknowledges_it(front: Front) -> None:
    client = welcomed(front.open(0))
    client.sendall(framed(close(1)))
    assert front.frames.receive() == closed(0)
    front.link.sendall(pack_header(Kind.END, 0))
    assert hear(client).HasField("close")
    assert front.ask(1, reset(1)).HasField("reset")


def test_an_environment_that_cannot_be_made_is_told_and_leaves_its_slot(front: Front) -> None:
    refused = front.order(2, 2, pb.MakeRequest(env_id="NoSuchThing-v0"))
    assert fault(refused) == "UNKNOWN_ENVIRONMENT"
    assert front.frames.receive() == closed(2)
    front.make(PLACES, slot=2)


def exactly(client: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        data += client.recv(size - len(data))
    return bytes(data)


def hear_frame(client: socket.socket) -> bytes:
    """Reads a frame and returns what came beside its message."""
    length, _, attached = HEADER.unpack(exactly(client, HEADER_BYTES))
    exactly(client, length)
    return exactly(client, attached)


def flooded(front: Front, number: int, requests: int = 3) -> socket.socket:
    """A client that asks for replies larger than its socket holds, and does not read."""
    client = welcomed(front.open(number), 300_000)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.sendall(framed(reset(1), *(step(2 + each) for each in range(requests))))
    assert eventually(lambda: front.scoreboard.served(number) >= 1)
    return client


def test_a_client_that_does_not_read_keeps_its_neighbours_waiting_for_nothing(relay: Front) -> None:
    relay.make(2)
    client = flooded(relay, 0)
    for sequence in range(1, 4):
        assert relay.ask(2, reset(sequence)).HasField("reset")
    assert relay.scoreboard.busy_for(0) == 0.0, "sending is not serving"
    assert relay.scoreboard.served(0) <= 3, "nor is more served than the client reads"
    for _ in range(4):
        hear_frame(client)
    assert eventually(lambda: relay.scoreboard.served(0) == 4)


def test_a_client_that_does_not_read_loses_its_connection_alone(
    relay: Front, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("envwire.server._worker.direct.service.SEND_SECONDS", 0.05)
    client = flooded(relay, 0)
    assert eventually(lambda: not relay.connected(0))
    served = relay.scoreboard.served(0)
    assert relay.ask(0, step(served)).HasField("step"), "the kept reply: the session goes on"
    assert relay.ask(0, step(served + 1)).HasField("step")
    client.close()


def test_what_is_unsent_is_what_was_answered_whatever_the_session_does_next(relay: Front) -> None:
    """The arrays of a reply are the environment's own, which it writes to in its next step."""
    relay.make(2)
    client = flooded(relay, 0, requests=8)
    for sequence in range(1, 4):  # by then nothing more is served
        assert relay.ask(2, reset(sequence)).HasField("reset")
    last = relay.scoreboard.served(0)
    kept = relay.ask(0, step(last))
    assert relay.ask(0, step(last + 1)).HasField("step")
    frames = [hear_frame(client) for _ in range(last)]
    assert frames[-1] == kept.step.observation.array.data


def test_the_reply_to_a_close_is_sent_though_its_reader_is_slow(relay: Front) -> None:
    client = welcomed(relay.open(0), 300_000)
    client.sendall(framed(reset(1), close(2)))
    assert relay.frames.receive() == closed(0)
    relay.link.sendall(ack(0))
    hear_frame(client)
    assert hear(client).HasField("close")
    assert client.recv(1) == b""
