"""A program that hosts the environment of one session, as a child of the session process.

It inherits one end of a socket, whose descriptor the environment variable `CHANNEL` names, and speaks the direct
channel of docs/protocol.md on it. Its output goes where the session process's own goes. It is confined and limited like
the session process, and cannot outlive it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from typing import NoReturn

from google.protobuf.message import DecodeError

from envwire.codec import FaultError, Reason, decode_fault, envwire_family
from envwire.server._ipc.fault_replies import reply_too_large
from envwire.v1 import direct_pb2, environment_pb2
from envwire.wire.frames import HEADER, HEADER_BYTES, PREAMBLE
from envwire.wire.local_channel import AdaptiveSpin

#: Environment variable with the number of the descriptor.
CHANNEL = "ENVWIRE_CHANNEL"
#: Seconds for a program to exit after its session was closed, or its channel broke.
_EXIT_SECONDS = 2.0
_CHUNK_BYTES = 65536


class Program:
    """A running program.

    Args:
        command: The program and its arguments.
        limit: Longest answer, in bytes.

    Raises:
        FaultError: UNSUPPORTED: it cannot be started.
    """

    def __init__(self, command: Sequence[str], limit: int) -> None:
        self._limit = limit
        self._socket, inherited = socket.socketpair()
        self._spin = AdaptiveSpin()
        self._rest = b""
        with inherited:
            descriptor = inherited.fileno()
            variables = os.environ | {CHANNEL: str(descriptor)}
            try:
                self._process = subprocess.Popen(  # noqa: S603 - the operator's program
                    command, stdin=subprocess.DEVNULL, pass_fds=[descriptor], env=variables
                )
            except (OSError, subprocess.SubprocessError) as error:
                self._socket.close()
                raise FaultError(
                    Reason.UNSUPPORTED, f"the program {command[0]} cannot be started: {error}"
                ) from error

    def make(self, request: environment_pb2.MakeRequest) -> environment_pb2.MakeResponse:
        """Makes the program's session.

        Raises:
            FaultError: The environment cannot be made.
        """
        hello = direct_pb2.HelloRequest(make=direct_pb2.MakeHello())
        messages = hello.SerializeToString(), request.SerializeToString()
        self._send(PREAMBLE + b"".join(map(_frame, messages)))
        made = self._greeting()
        if made.HasField("error"):
            self.leave()
            raise decode_fault(made.error, envwire_family())
        if not (made.HasField("made") and self._greeting().HasField("welcome")):
            self._end("did not answer a Make with `made` and `welcome`")
        return made.made

    def ask(self, message: bytes) -> bytes:
        """Sends an InteractRequest and returns the InteractResponse.

        It has no deadline of its own: the front ends a session whose request takes too long.

        Raises:
            FaultError: MESSAGE_TOO_LARGE: the answer is over the limit, and was dropped.
        """
        self._send(_frame(message))
        return self._receive()

    def leave(self) -> None:
        """Ends the channel; kills the program unless it exits soon."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._exit_status()

    def _greeting(self) -> direct_pb2.HelloResponse:
        try:
            return direct_pb2.HelloResponse.FromString(self._receive())
        except DecodeError:
            self._end("answered a Make with bytes that are no HelloResponse")

    def _send(self, data: bytes) -> None:
        try:
            self._socket.sendall(data)
        except OSError:
            self._end("closed its channel")

    def _receive(self) -> bytes:
        data = self._rest or self._more()
        while len(data) < HEADER_BYTES:
            data += self._more()
        length, place, attached = HEADER.unpack_from(data)
        if place or attached:
            self._end("sent a frame with attachments, which are not for this channel")
        end = HEADER_BYTES + length
        if length > self._limit:
            self._rest = self._skip(data, end)
            raise reply_too_large(length, self._limit)
        if len(data) < end:
            data = self._filled(data, end)
        self._rest = data[end:]
        return data[HEADER_BYTES:end]

    def _filled(self, begun: bytes, length: int) -> bytes:
        """Returns a frame of which a part has arrived."""
        frame = bytearray(length)
        frame[: len(begun)] = begun
        view = memoryview(frame)[len(begun) :]
        while view:
            received = self._socket.recv_into(view)
            if not received:
                self._end("closed its channel within a frame")
            view = view[received:]
        return bytes(frame)

    def _skip(self, begun: bytes, length: int) -> bytes:
        """Drops a frame of which a part has arrived; returns what follows it."""
        while len(begun) < length:
            length -= len(begun)
            begun = self._more()
        return begun[length:]

    def _more(self) -> bytes:
        try:
            data = self._spin.poll(self._look)
            if data is None:
                data = self._socket.recv(_CHUNK_BYTES)
                self._spin.woke()
        except OSError:
            data = b""
        if not data:
            self._end("closed its channel")
        return data

    def _look(self, _: int) -> bytes | None:
        """Returns what has arrived; None for nothing yet."""
        try:
            return self._socket.recv(_CHUNK_BYTES, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return None

    def _end(self, what: str) -> NoReturn:
        """Ends this process as the program ended, so that the client and the log are told how."""
        self._socket.close()
        status = self._exit_status()
        sys.stdout.flush()
        print(f"the program {what} ({_ending(status)})", file=sys.stderr, flush=True)
        if status < 0:
            with contextlib.suppress(OSError):  # SIGKILL has no handler
                signal.signal(-status, signal.SIG_DFL)
            os.kill(os.getpid(), -status)
        os._exit(status or 1)

    def _exit_status(self) -> int:
        try:
            return self._process.wait(_EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            return 1


def _frame(message: bytes) -> bytes:
    return HEADER.pack(len(message), 0, 0) + message


def _ending(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    named = {number.value: number.name for number in signal.Signals}
    return f"signal {named.get(-status, -status)}"
