"""What a program has to serve a client's connection itself, so that a step passes through no other process.

The session process lends the program the connection once it is open, and with it the mailbox. The program serves what
needs nothing of the server, and gives the connection back with the first request that does, when the client does not
read an answer soon, or when it is gone. So a program waits for no client while the server wants the connection.
docs/protocol.md describes the bytes.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import socket
import struct
from typing import NamedTuple

#: Environment variables with the numbers of the descriptors.
CONNECTIONS, COUNTS = "ENVWIRE_CONNECTIONS", "ENVWIRE_COUNTS"
#: Capabilities of a program that takes connections, and of one that uses their mailboxes.
DIRECT, MAILBOX = "direct", "mailbox"
#: Longest answer; bytes of a box, 0 without a mailbox; the numbers of the frames last taken and put there.
LENT = struct.Struct("<QIBBxx")
#: Whether the client is still there; the numbers of the frames last taken and put; the length of the part of the last
#: answer that the client did not take. That part follows, and then the bytes that the program has not served.
_RETURNED = struct.Struct("<?BBxI")
#: What Node.js reads sockets with; programs in other languages need only the descriptors beside it.
_LINE = b'{"cmd":"NODE_HANDLE","type":"net.Socket","msg":{}}\n'
_COUNTS = struct.Struct("4Q")


class Lendable(NamedTuple):
    """What another process needs to serve a connection.

    Attributes:
        descriptors: The socket's, and that of the mailbox's memory if there is one.
        limit: Longest answer, in bytes.
        box_bytes: Bytes of a box; 0 without a mailbox.
        taken: The number of the frame last taken.
        put_in: The number of the frame last put.
    """

    descriptors: list[int]
    limit: int
    box_bytes: int = 0
    taken: int = 0
    put_in: int = 0


class Returned(NamedTuple):
    """A connection that is given back.

    Attributes:
        is_open: Whether the client is still there.
        taken: The number of the frame last taken from the mailbox.
        put_in: The number of the frame last put.
        unsent: The part of the last answer that the client did not take.
        rest: Received bytes that the program has not served.
    """

    is_open: bool
    taken: int
    put_in: int
    unsent: bytes
    rest: bytes

    @classmethod
    def read(cls, message: bytes) -> Returned:
        """Reads the message with which a program gives a connection back.

        Raises:
            struct.error: It is too short.
        """
        is_open, taken, put_in, unsent = _RETURNED.unpack_from(message)
        rest = _RETURNED.size + unsent
        return cls(is_open, taken, put_in, message[_RETURNED.size : rest], message[rest:])


class Counted(NamedTuple):
    """What a program did on lent connections.

    Attributes:
        begun: When the request that it is serving began, in nanoseconds of the monotonic clock; 0 for none.
        requests: Requests that it served.
        steps: Steps among them, those of chunks included; a step of a vector environment is one.
        serving: Nanoseconds for them.
    """

    begun: int = 0
    requests: int = 0
    steps: int = 0
    serving: int = 0


class Loans:
    """This process's end of what connections are lent by.

    Attributes:
        inherited: The program's descriptors, by the variables that name them; to be closed once it runs.
    """

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair()
        self._socket.setblocking(False)
        counts = os.memfd_create("envwire-counts", os.MFD_CLOEXEC)
        os.ftruncate(counts, mmap.PAGESIZE)
        # Read, and not mapped: the program could cut the memory off.
        self._counts = open(os.dup(counts), "rb", buffering=0)  # noqa: SIM115 - closed in `close`
        self.inherited = {CONNECTIONS: theirs.detach(), COUNTS: counts}

    def close_inherited(self) -> None:
        """Closes the program's descriptors in this process."""
        for descriptor in self.inherited.values():
            os.close(descriptor)

    def lend(self, connection: Lendable) -> bytes:
        """Hands over a connection; returns the message for the program.

        Raises:
            OSError: The program is gone, or takes none.
        """
        with contextlib.suppress(BlockingIOError):  # acknowledgements of Node.js
            self._socket.recv(4096)
        socket.send_fds(self._socket, [_LINE], connection.descriptors)
        return LENT.pack(
            connection.limit, connection.box_bytes, connection.taken, connection.put_in
        )

    def counted(self) -> Counted:
        """Returns what the program has counted so far."""
        read = os.pread(self._counts.fileno(), _COUNTS.size, 0)
        return Counted(*_COUNTS.unpack(read)) if len(read) == _COUNTS.size else Counted()

    def close(self) -> None:
        """Closes what this process has of it."""
        self._socket.close()
        self._counts.close()
