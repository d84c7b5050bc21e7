"""A program for `envwire serve --exec` without the kits: it hosts what envwire has, and goes wrong when asked to.

Faulty-v0 goes wrong in a step, Wrong-v0 in its Make. With `--direct` it serves connections of clients itself.
"""

from __future__ import annotations

import contextlib
import importlib
import itertools
import os
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable
from typing import Any

from envwire import envs
from envwire.codec import FaultError, decode_mapping, envwire_family
from envwire.server._hosting.environment_making import describe, make_environment
from envwire.server._hosting.libraries import Catalogue, Listing
from envwire.server._hosting.library import Library
from envwire.server._ipc.refusals import fault_reply
from envwire.server._session.session import Session
from envwire.v1 import direct_pb2, environment_pb2
from envwire.wire.frames import HEADER, PREAMBLE

UNNAMED_SIGNAL = 40
"""One of those for real time, which have no names."""


class Faulty:
    """CartPole whose action 7 to 11 is a segmentation fault, a hang, a flood of output, an exit, and a signal."""

    def __init__(self, env: Any) -> None:
        self.__dict__["env"] = env

    def __getattr__(self, name: str) -> Any:
        return getattr(self.env, name)

    def step(self, action: Any) -> Any:
        """Goes wrong, or takes a step."""
        wrong = {7: _fault, 8: _hang, 9: _flood, 10: _leave, 11: _signal}.get(int(action))
        if wrong is not None:
            wrong()
        return self.env.step(action)


def _fault() -> None:
    print("about to write to address 0", flush=True)
    os.kill(os.getpid(), signal.SIGSEGV)


def _hang() -> None:
    while True:
        time.sleep(3600)


def _flood() -> None:
    while True:
        print("x" * 1000)


def _leave() -> None:
    print("nothing left to simulate", file=sys.stderr, flush=True)
    os._exit(3)


def _signal() -> None:
    os.kill(os.getpid(), UNNAMED_SIGNAL)


def _talk_nonsense(channel: socket.socket) -> None:
    channel.sendall(b"hello, is this the simulator?" * 9)


def _attach(channel: socket.socket) -> None:
    channel.sendall(HEADER.pack(0, 0, 64) + bytes(64))


def _announce_much(channel: socket.socket) -> None:
    channel.sendall(HEADER.pack(2**32 - 1, 0, 0))


def _break_off(channel: socket.socket) -> None:
    channel.sendall(HEADER.pack(1000, 0, 0) + b"not all")


def _say_nothing(_: socket.socket) -> None:
    _hang()


def _refuse(_: socket.socket) -> None:
    sys.exit("no licence for this simulator")


#: What goes wrong in place of the answer to Make.
WRONG: dict[str, Callable[[socket.socket], None]] = {
    "nonsense": _talk_nonsense,
    "attachments": _attach,
    "length": _announce_much,
    "half": _break_off,
    "exit": _refuse,
    "silence": _say_nothing,
}


class Frames:
    """The frames of a socket."""

    def __init__(self, channel: socket.socket) -> None:
        self.channel = channel
        self.stream = channel.makefile("rb")

    def receive(self) -> tuple[int, bytes] | None:
        """Returns what a frame holds, and its message; None at the end."""
        header = self.stream.read(HEADER.size)
        if len(header) < HEADER.size:
            return None
        length, what, _ = HEADER.unpack(header)
        return what, self.stream.read(length)

    def send(self, message: bytes) -> None:
        self.channel.sendall(HEADER.pack(len(message), 0, 0) + message)


#: Seconds for which a client may leave an answer unread before its connection is given back.
PATIENCE = 0.25


def given_back(is_open: bool, unsent: bytes = b"", rest: bytes = b"") -> bytes:
    """Returns the message with which a connection is given back."""
    return struct.pack("<?3xI", is_open, len(unsent)) + unsent + rest


def unsent(connection: socket.socket, message: bytes) -> bytes:
    """Sends a message in a frame; returns the part that the client does not read soon."""
    left = memoryview(HEADER.pack(len(message), 0, 0) + message)
    connection.settimeout(PATIENCE)
    with contextlib.suppress(TimeoutError):
        while left:
            left = left[connection.send(left) :]
    connection.settimeout(None)
    return bytes(left)


class Lent:
    """Connections that the server lends."""

    def __init__(self) -> None:
        self._line = socket.socket(fileno=int(os.environ["ENVWIRE_CONNECTIONS"]))
        self._counts = int(os.environ["ENVWIRE_COUNTS"])
        self._counted = [0, 0, 0]

    def serve(self, session: Session, channel: socket.socket) -> bytes:
        """Serves steps and resets of a connection; returns the message that gives it back."""
        _, descriptors, _, _ = socket.recv_fds(self._line, 4096, 1)
        with socket.socket(fileno=descriptors[0]) as connection:
            connection.setblocking(True)
            frames = Frames(connection)
            while True:
                if channel in select.select([connection, channel], [], [])[0]:  # it is wanted back
                    return given_back(True)
                if (came := frames.receive()) is None:
                    return given_back(False)
                message = came[1]
                kind = environment_pb2.InteractRequest.FromString(message).WhichOneof("request")
                if kind not in {"step", "reset"}:
                    # What follows in the stream's buffer is lost: clients of the tests wait for each answer.
                    return given_back(True, rest=HEADER.pack(len(message), 0, 0) + message)
                self._count(begun := time.monotonic_ns())
                answer = session.handle(message).message
                self._counted[0] += 1
                self._counted[1] += kind == "step"
                self._counted[2] += time.monotonic_ns() - begun
                self._count(0)
                if left := unsent(connection, answer):
                    return given_back(True, left)

    def _count(self, begun: int) -> None:
        os.pwrite(self._counts, struct.pack("4Q", begun, *self._counted), 0)


def main() -> None:
    """Serves one session on the inherited socket."""
    channel = socket.socket(fileno=int(os.environ["ENVWIRE_CHANNEL"]))
    lent = Lent() if "--direct" in sys.argv else None
    frames = Frames(channel)
    assert frames.stream.read(len(PREAMBLE)) == PREAMBLE

    def receive() -> bytes:
        return (frames.receive() or sys.exit(0))[1]

    send = frames.send
    assert direct_pb2.HelloRequest.FromString(receive()).HasField("make")
    request = environment_pb2.MakeRequest.FromString(receive())
    if request.env_id == "Wrong-v0":
        WRONG[decode_mapping(request.kwargs, envwire_family())["how"]](channel)
        return
    family = envwire_family()
    importlib.import_module("envwire.envs.envs.conformance")
    library = Library(family, envs, "1.0")
    listings = {("envwire", id_): Listing(library, spec) for id_, spec in envs.registry.items()}
    catalogue = Catalogue([library], listings)
    try:
        faulty = request.env_id == "Faulty-v0"
        if faulty:
            request.env_id = "CartPole-v1"
        env, _ = make_environment(catalogue, request)
    except FaultError as error:
        send(direct_pb2.HelloResponse(error=fault_reply(error).error).SerializeToString())
        return
    session = Session(Faulty(env) if faulty else env, family)
    made = describe(env, family)
    made.capabilities.extend(session.capabilities)
    if lent is not None:
        made.capabilities.append("direct")
    send(direct_pb2.HelloResponse(made=made).SerializeToString())
    welcome = direct_pb2.Welcome(max_message_bytes=2**28)
    send(direct_pb2.HelloResponse(welcome=welcome).SerializeToString())
    own = Session(
        session.hosted.env, family
    )  # whose numbers are those of the server's own requests
    numbers = itertools.count(1)
    while (came := frames.receive()) is not None:
        what, message = came
        if what == 2 and lent is not None:
            send(lent.serve(session, channel))
        elif what == 3:  # it was given back already
            continue
        elif what == 1:
            send(own.handle(_numbered(message, next(numbers))).message)
        else:
            send(session.handle(message).message)


def _numbered(message: bytes, number: int) -> bytes:
    request = environment_pb2.InteractRequest.FromString(message)
    body = getattr(request, request.WhichOneof("request") or "")
    body.sequence = number
    return request.SerializeToString()


if __name__ == "__main__":
    main()
