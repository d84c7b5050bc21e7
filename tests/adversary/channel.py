"""The direct channel, byte by byte as docs/protocol.md has it."""

from __future__ import annotations

import socket
import struct
from typing import TYPE_CHECKING

from envwire.v1 import direct_pb2
from envwire.v1 import environment_pb2 as pb
from tests.adversary.client import SECONDS
from tests.adversary.messages import Session

if TYPE_CHECKING:
    from typing_extensions import Self

PREAMBLE = b"envwire\x01"
HEADER = struct.Struct("<IIQ")
UNIX = "unix-abstract:"


def frame(message: bytes) -> bytes:
    """Returns the frame of a message without attachments."""
    return HEADER.pack(len(message), 0, 0) + message


class DirectChannel:
    """A direct channel to a session.

    Args:
        session: The session.
        unix: Whether to take its Unix socket, else TCP.
        receive_bytes: Size of the socket's receive buffer; 0 for the system's choice.
    """

    def __init__(self, session: Session, *, unix: bool = True, receive_bytes: int = 0) -> None:
        self._session = session
        self._socket = socket.socket(socket.AF_UNIX if unix else socket.AF_INET)
        self._socket.settimeout(SECONDS)
        if receive_bytes:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        try:
            self._socket.connect(_address(session, unix))
            self._socket.sendall(PREAMBLE + frame(session.hello()))
            self.welcome = direct_pb2.HelloResponse.FromString(self._message())
        except BaseException:
            self._socket.close()
            raise

    def send(self, *requests: bytes) -> None:
        """Sends requests in one write."""
        self._socket.sendall(b"".join(map(frame, requests)))

    def receive(self) -> pb.InteractResponse:
        """Returns the next answer; its attachments are thrown away.

        Raises:
            ConnectionError: The server closed the channel.
        """
        return pb.InteractResponse.FromString(self._message())

    def ask(self, kind: str, sequence: int, **fields: object) -> pb.InteractResponse:
        """Sends a request of the session and returns its answer."""
        self.send(self._session.direct_request(kind, sequence, **fields))
        return self.receive()

    def _message(self) -> bytes:
        length, _, attached = HEADER.unpack(self._exactly(HEADER.size))
        message = self._exactly(length)
        self._exactly(attached)
        return message

    def _exactly(self, length: int) -> bytes:
        data = bytearray()
        while len(data) < length:
            more = self._socket.recv(min(length - len(data), 2**20))
            if not more:
                raise ConnectionError("the server closed the channel")
            data += more
        return bytes(data)

    def close(self) -> None:
        """Ends the connection."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _address(session: Session, unix: bool) -> str | tuple[str, int]:
    for address in session.made.direct.addresses:
        if unix and address.startswith(UNIX):
            return "\0" + address.removeprefix(UNIX)
        if not unix and not address.startswith(UNIX):
            host, _, port = address.rpartition(":")
            return host or session.target.rpartition(":")[0], int(port)
    raise AssertionError(f"no such direct channel among {session.made.direct.addresses}")
