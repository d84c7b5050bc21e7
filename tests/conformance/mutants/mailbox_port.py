"""A server with a mailbox, in front of another server; it can break each rule of the mailbox."""

from __future__ import annotations

import fcntl
import itertools
import mmap
import os
import select
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from envwire.conformance.proxy import Behaviour, Upstream
from envwire.conformance.proxy.backend import Backend
from envwire.conformance.proxy.direct_port import Connection, DirectPort
from envwire.conformance.raw.direct_link import HEADER, UNIX, WAKE, frame
from envwire.v1 import direct_pb2
from envwire.v1 import environment_pb2 as pb

BOX_BYTES = 4096
_FRAME_AT, _MOST = 16, BOX_BYTES - 16
#: How long this server looks into its box, in seconds; then, how long it takes to say that it sleeps. The second makes
#: the moment long in which a frame may be put that was not seen.
_LOOK_SECONDS, _DROWSY_SECONDS = 1e-3, 3e-3
_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW
_NAMES = itertools.count()


class Mailboxed(Behaviour):
    """Offers a mailbox on a Unix socket.

    Attributes:
        address: That of the Unix socket.
        offers_unasked: Whether a client gets a mailbox that does not ask for one.
        seals: Whether the memory keeps its size.
        keeps_memory: Whether all channels have the same memory.
        minds_sleepers: Whether answers to a client that sleeps go on the socket.
        wakes: Whether a client is woken that fell asleep before its answer was in the box.
        looks_again: Whether it looks into its box once more before it sleeps.
        ignores_wakes: Whether an empty frame is no request.
        bounds_requests: Whether a frame that does not fit into the box ends the channel.
        refuses_empty: Whether an empty frame in the box ends the channel.
        bounds_answers: Whether answers that do not fit into the box go on the socket.
        keeps_apart: Whether half a frame on the socket is kept apart from frames in the box.
        adds: What one answer adds to their number.
    """

    address = ""
    offers_unasked = False
    seals = True
    keeps_memory = False
    minds_sleepers = True
    wakes = True
    looks_again = True
    ignores_wakes = True
    bounds_requests = True
    refuses_empty = True
    bounds_answers = True
    keeps_apart = True
    adds = 1

    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        response = upstream.forward(request)
        if response.HasField("make"):
            response.make.direct.addresses.append(self.address)
        return response


class Boxed:
    """A connection with a mailbox, which is read and written as a socket is."""

    def __init__(self, connection: socket.socket, memory: mmap.mmap, behaviour: Mailboxed) -> None:
        self._socket = connection
        self._poll = select.poll()
        self._poll.register(connection, select.POLLIN)
        self._memory = memory
        self._behaviour = behaviour
        self._taken = memory[0]
        self._begun, self._whole = b"", b""
        self._client_looks = False
        self._replaced = False
        self._taking = threading.Lock()

    def replace(self) -> None:
        """Takes nothing out of the box any more, since the session has another channel."""
        with self._taking:
            self._replaced = True

    def settimeout(self, seconds: float | None) -> None:
        self._socket.settimeout(seconds)

    def recv(self, size: int) -> bytes:
        """Returns the next bytes of a frame, wherever it came."""
        if not self._whole:
            self._whole = self._next()
            # The answer is put into the box if the client looks there now: it may fall asleep in the meantime.
            self._client_looks = not self._memory[BOX_BYTES + 1]
        data, self._whole = self._whole[:size], self._whole[size:]
        return data

    def _next(self) -> bytes:
        """Waits for a frame; returns nothing at the end."""
        if found := self._cut():
            return found
        while True:
            self._memory[1] = 0
            until = time.monotonic() + _LOOK_SECONDS
            while time.monotonic() < until:
                if (found := self._look(0)) is not None:
                    return found
            time.sleep(_DROWSY_SECONDS)
            self._memory[1] = 1
            if self._behaviour.looks_again and (taken := self._take()):
                return taken
            if (found := self._look(None)) is not None:
                return found

    def _look(self, milliseconds: int | None) -> bytes | None:
        if milliseconds is not None and (taken := self._take()):
            return taken
        if not self._poll.poll(milliseconds):
            return None
        data = self._socket.recv(65536)
        self._begun += data
        return self._cut() if data else b""

    def _take(self) -> bytes:
        """Returns the frame in the box, if it is a new one."""
        with self._taking:
            return b"" if self._replaced or self._memory[0] == self._taken else self._taken_out()

    def _taken_out(self) -> bytes:
        self._taken = self._memory[0]
        length = HEADER.unpack(self._memory[_FRAME_AT : _FRAME_AT + HEADER.size])[0] + HEADER.size
        if length > _MOST and self._behaviour.bounds_requests:
            raise ConnectionResetError("a frame that does not fit into the box")
        if length == HEADER.size:
            if self._behaviour.refuses_empty:
                raise ConnectionResetError("an empty frame in the box")
            return b""
        found = self._memory[_FRAME_AT : _FRAME_AT + length]
        if not self._behaviour.keeps_apart:
            found, self._begun = self._begun + found, b""
        return found

    def _cut(self) -> bytes | None:
        """Returns a frame of the socket; None for a wake, and while it is not whole."""
        while len(self._begun) >= HEADER.size:
            end = HEADER.unpack_from(self._begun)[0] + HEADER.size
            if len(self._begun) < end:
                return None
            found, self._begun = self._begun[:end], self._begun[end:]
            if found != WAKE or not self._behaviour.ignores_wakes:
                return found
        return None

    def sendall(self, data: bytes) -> None:
        """Puts a frame into the box, or sends it."""
        behaviour, memory = self._behaviour, self._memory
        fits = len(data) <= _MOST or not behaviour.bounds_answers
        if not fits or (behaviour.minds_sleepers and not self._client_looks):
            self._socket.sendall(data)
            return
        start, kept = BOX_BYTES + _FRAME_AT, data[:_MOST]
        memory[start : start + len(kept)] = kept
        memory[BOX_BYTES] = (memory[BOX_BYTES] + behaviour.adds) % 256
        if memory[BOX_BYTES + 1] and behaviour.wakes:
            self._socket.sendall(WAKE)


class MailboxPort(DirectPort):
    """A Unix socket whose channels have mailboxes."""

    def __init__(self, backend: Backend, listener: socket.socket, behaviour: Mailboxed) -> None:
        super().__init__(backend, listener)
        self._behaviour = behaviour
        self._kept: tuple[int, mmap.mmap] | None = None
        self._channels: dict[str, Boxed] = {}

    def welcome(
        self,
        connection: socket.socket,
        hello: direct_pb2.HelloRequest,
        answer: direct_pb2.HelloResponse,
    ) -> Connection:
        if not (hello.mailbox or self._behaviour.offers_unasked):
            return super().welcome(connection, hello, answer)
        self._kept = self._kept if self._behaviour.keeps_memory and self._kept else self._memory()
        descriptor, memory = self._kept
        earlier = self._channels.get(hello.header.session_id)
        if earlier is not None:
            earlier.replace()
        answer.welcome.mailbox.box_bytes = BOX_BYTES
        socket.send_fds(connection, [frame(answer)], [descriptor])
        made = self._channels[hello.header.session_id] = Boxed(connection, memory, self._behaviour)
        return made

    def _memory(self) -> tuple[int, mmap.mmap]:
        descriptor = os.memfd_create("mailbox", os.MFD_ALLOW_SEALING)
        os.ftruncate(descriptor, 2 * BOX_BYTES)
        if self._behaviour.seals:
            fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SEALS)
        memory = mmap.mmap(descriptor, 2 * BOX_BYTES)
        memory[1] = memory[BOX_BYTES + 1] = 1
        return descriptor, memory


@contextmanager
def mailbox_port(target: str, behaviour: Behaviour) -> Iterator[None]:
    """Runs the Unix socket of a behaviour that has one.

    Args:
        target: HOST:PORT of the server behind.
        behaviour: The behaviour whose sessions name the socket.
    """
    if not isinstance(behaviour, Mailboxed):
        yield
        return
    name = f"envwire-mailbox-{os.getpid()}-{next(_NAMES)}"
    behaviour.address = f"{UNIX}{name}"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"\0{name}")
    listener.listen()
    backend = Backend(target, behaviour)
    port = MailboxPort(backend, listener, behaviour)
    port.start()
    try:
        yield
    finally:
        port.stop()
        backend.close()
