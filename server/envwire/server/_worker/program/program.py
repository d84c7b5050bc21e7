"""A program that hosts the environment of one session, as a child of the session process.

It inherits one end of a socket, whose descriptor the environment variable `CHANNEL` names, and speaks the direct
channel of docs/protocol.md on it. Its output goes where the session process's own goes. It is confined and limited like
the session process, and cannot outlive it. What it has to serve a client's own connection is in `loan`.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import NoReturn

from google.protobuf.message import DecodeError

from envwire.codec import FaultError, Reason, decode_fault, envwire_family
from envwire.server._ipc.refusals import reply_too_large
from envwire.server._worker.program.loan import Counted, Lendable, Loans, Returned
from envwire.v1 import direct_pb2, environment_pb2
from envwire.wire.frames import HEADER, HEADER_BYTES, PREAMBLE
from envwire.wire.local_channel import AdaptiveSpin

#: Environment variable with the number of the descriptor.
CHANNEL = "ENVWIRE_CHANNEL"
#: Seconds for a program to exit after its session was closed, or its channel broke.
_EXIT_SECONDS = 2.0
_CHUNK_BYTES = 65536
#: What a frame holds for the program, in place of a location: a client's request; one of the server's own, which has no
#: number; a connection that is lent; the wish to have it back, which is not answered beyond that.
_REQUEST, _OWN_REQUEST, _LOAN, _RECALL = range(4)
#: With a connection come back at most an answer, a request, and further requests that came with it.
_FURTHER_BYTES = 1 << 20


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
        self._loans = Loans()
        self._lent = False
        with inherited:
            descriptors = {CHANNEL: inherited.fileno(), **self._loans.inherited}
            try:
                self._process = _started(command, descriptors)
            except (OSError, subprocess.SubprocessError) as error:
                self._socket.close()
                self._loans.close()
                raise FaultError(
                    Reason.UNSUPPORTED, f"the program {command[0]} cannot be started: {error}"
                ) from error
            finally:
                self._loans.close_inherited()

    def fileno(self) -> int:
        """Returns the descriptor that is readable when the program gives a connection back, or is gone."""
        return self._socket.fileno()

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

    def ask(self, message: bytes, own: bool = False) -> bytes:
        """Sends an InteractRequest and returns the InteractResponse.

        It has no deadline of its own: the front ends a session whose request takes too long.

        Args:
            message: The request.
            own: Whether it is the server's own, in a session whose requests the program numbers.

        Raises:
            FaultError: MESSAGE_TOO_LARGE: the answer is over the limit, and was dropped.
        """
        self._recover()
        self._send(_frame(message, _OWN_REQUEST if own else _REQUEST))
        return self._receive()

    def lend(self, connection: Lendable) -> bool:
        """Lends the program a client's connection; returns False if it does not take it."""
        self._recover()
        try:
            message = self._loans.lend(connection)
        except OSError:
            return False
        self._send(_frame(message, _LOAN))
        self._lent = True
        return True

    def recall(self) -> Returned:
        """Takes the lent connection back, after the request that the program is serving."""
        self._send(_frame(b"", _RECALL))
        return self.given_back()

    def given_back(self) -> Returned:
        """Waits until the lent connection is given back."""
        try:
            returned = Returned.read(self._receive(2 * self._limit + _FURTHER_BYTES))
        except (struct.error, FaultError):
            self._end("gave a connection back with a frame of no such length")
        self._lent = False
        return returned

    def _recover(self) -> None:
        """Waits for a connection that was closed here, and whose client repeats what it has asked last."""
        if self._lent:
            self.given_back()

    def counted(self) -> Counted:
        """Returns what the program did on lent connections."""
        return self._loans.counted()

    def leave(self) -> None:
        """Ends the channel; kills the program unless it exits soon."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._loans.close()
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

    def _receive(self, limit: int | None = None) -> bytes:
        """Returns the next message.

        Raises:
            FaultError: MESSAGE_TOO_LARGE: it is over the limit, by default that of an answer, and was dropped.
        """
        limit = limit or self._limit
        data = self._rest or self._more()
        while len(data) < HEADER_BYTES:
            data += self._more()
        length, place, attached = HEADER.unpack_from(data)
        if place or attached:
            self._end("sent a frame with attachments, which are not for this channel")
        end = HEADER_BYTES + length
        if length > limit:
            self._rest = self._skip(data, end)
            raise reply_too_large(length, limit)
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


def _started(command: Sequence[str], descriptors: Mapping[str, int]) -> subprocess.Popen[bytes]:
    """Starts a program that inherits descriptors, which environment variables name."""
    variables = os.environ | {name: str(number) for name, number in descriptors.items()}
    return subprocess.Popen(  # noqa: S603 - the operator's program
        command, stdin=subprocess.DEVNULL, pass_fds=list(descriptors.values()), env=variables
    )


def _frame(message: bytes, what: int = _REQUEST) -> bytes:
    return HEADER.pack(len(message), what, 0) + message


def _ending(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    named = {number.value: number.name for number in signal.Signals}
    return f"signal {named.get(-status, -status)}"
