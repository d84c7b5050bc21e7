"""A program for `envwire serve --exec` without the kits: it hosts what envwire has, and goes wrong when asked to.

Faulty-v0 goes wrong in a step, Wrong-v0 in its Make.
"""

from __future__ import annotations

import importlib
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from typing import Any

from envwire import envs
from envwire.codec import FaultError, decode_mapping, envwire_family
from envwire.server._hosting.libraries import Catalogue, Listing
from envwire.server._hosting.library import Library
from envwire.server._hosting.making import describe, make_environment
from envwire.server._ipc.fault_replies import fault_reply
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


def main() -> None:
    """Serves one session on the inherited socket."""
    channel = socket.socket(fileno=int(os.environ["ENVWIRE_CHANNEL"]))
    stream = channel.makefile("rb")
    assert stream.read(len(PREAMBLE)) == PREAMBLE

    def receive() -> bytes:
        header = stream.read(HEADER.size)
        if len(header) < HEADER.size:
            sys.exit(0)
        return stream.read(HEADER.unpack(header)[0])

    def send(message: bytes) -> None:
        channel.sendall(HEADER.pack(len(message), 0, 0) + message)

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
    send(direct_pb2.HelloResponse(made=made).SerializeToString())
    welcome = direct_pb2.Welcome(max_message_bytes=2**28)
    send(direct_pb2.HelloResponse(welcome=welcome).SerializeToString())
    while True:
        send(session.handle(receive()).message)


if __name__ == "__main__":
    main()
