"""The control socket of a session process, on which the front hands over direct channels and requests forks."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from envwire.server._ipc.frames import ADMIT, FORK, MemoryUse
from envwire.server._worker.forking import fork_apart, obstacle

#: Socket for the answer, then link, output, control socket, scoreboard and lifeline of the copy.
_COPY_DESCRIPTORS = 6


class Copied(BaseException):
    """Raised in a process that was forked as a copy, with its link, output, control socket, scoreboard and lifeline."""


@dataclass
class ControlSocket:
    """The process's end of the control socket.

    Attributes:
        connection: The packet socket.
        admit: Called with a session's number, the memory that its client can use, and the connection.
        packed: Whether several sessions share the process, which then cannot be copied.
    """

    connection: socket.socket
    admit: Callable[[int, MemoryUse, socket.socket], None]
    packed: bool

    def serve(self) -> None:
        """Reads and handles one packet.

        Raises:
            Copied: This process is the requested copy.
            ConnectionResetError: The front is gone.
        """
        packet, descriptors, _, _ = socket.recv_fds(self.connection, ADMIT.size, _COPY_DESCRIPTORS)
        if not packet:
            raise ConnectionResetError("the front is gone")
        if packet == FORK and descriptors:
            self._fork(socket.socket(fileno=descriptors[0]), descriptors[1:])
        elif descriptors:  # no descriptor: too many open files here; the client retries
            number, *memory = ADMIT.unpack(packet)
            self.admit(number, MemoryUse(*memory), socket.socket(fileno=descriptors[0]))

    def _fork(self, answers: socket.socket, descriptors: Sequence[int]) -> None:
        """Forks this process for another session, and reports the result to the front."""
        with answers:
            try:
                why = self._obstacle(descriptors)
                pid = 0 if why else fork_apart()
                if not why and pid == 0:
                    raise Copied(*descriptors)
                answer = {"failed": why} if why else {"pid": pid}
            except OSError as error:
                answer = {"failed": str(error)}
            for descriptor in descriptors:
                os.close(descriptor)
            with contextlib.suppress(OSError):  # the front no longer waits
                answers.sendall(json.dumps(answer).encode())

    def _obstacle(self, descriptors: Sequence[int]) -> str:
        """Returns why this process cannot be copied; "" if it can."""
        if len(descriptors) + 1 < _COPY_DESCRIPTORS:
            return "too many files are open in the environment's process"
        return "several sessions share the process" if self.packed else obstacle()
