"""A client that uses only docs/protocol.md: sockets, struct and the contract's messages."""

from __future__ import annotations

import mmap
import os
import socket
import struct
from typing import Any

from envwire.v1 import direct_pb2
from envwire.v1 import environment_pb2 as pb

HEADER = struct.Struct("<IIQ")
UNIX = "unix-abstract:"


class Stranger:
    """One direct channel to a session that was made over gRPC."""

    def __init__(self, made: pb.MakeResponse, address: str, shared_memory: bool = False) -> None:
        unix = address.startswith(UNIX)
        self._socket = socket.socket(socket.AF_UNIX if unix else socket.AF_INET)
        self._socket.settimeout(10.0)
        tcp = (made.address.rpartition(":")[0], int(address.rpartition(":")[2] if not unix else 0))
        self._socket.connect("\0" + address.removeprefix(UNIX) if unix else tcp)
        owner = pb.SessionHeader(session_id=made.session_id, secret=made.secret)
        self.memory: mmap.mmap | None = None
        self._socket.sendall(b"envwire\x01")
        self._send(direct_pb2.HelloRequest(header=owner, shared_memory=shared_memory))
        first, descriptors, _, _ = socket.recv_fds(self._socket, 1, 1)
        message, _ = self._receive(first)
        self.hello = direct_pb2.HelloResponse.FromString(message)
        if descriptors:
            self.layout = self.hello.welcome.shared_memory
            self.memory = mmap.mmap(
                descriptors[0], self.layout.first_slot + self.layout.slots * self.layout.slot_bytes
            )
            os.close(descriptors[0])

    def _send(self, message: Any) -> None:
        raw: bytes = message.SerializeToString()
        self._socket.sendall(HEADER.pack(len(raw), 0, 0) + raw)

    def _receive(self, begun: bytes = b"") -> tuple[bytes, bytes]:
        """Returns the message of a frame and its attachments."""
        length, where, attached = HEADER.unpack(begun + self._exactly(HEADER.size - len(begun)))
        message = self._exactly(length)
        if not where:
            return message, self._exactly(attached)
        assert self.memory is not None
        start = self.layout.first_slot + (where - 1) * self.layout.slot_bytes
        copied = self.memory[start : start + attached]
        self.memory[where - 1] = 0  # given back
        return message, copied

    def _exactly(self, length: int) -> bytes:
        data = b""
        while len(data) < length:
            more = self._socket.recv(length - len(data))
            if not more:
                raise ConnectionError("closed")
            data += more
        return data

    def ask(self, kind: str, sequence: int, **fields: Any) -> tuple[pb.InteractResponse, bytes]:
        request = pb.InteractRequest()
        getattr(request, kind).CopyFrom(
            getattr(pb, f"{kind.title()}Request")(sequence=sequence, **fields)
        )
        self._send(request)
        message, attached = self._receive()
        return pb.InteractResponse.FromString(message), attached

    def close(self) -> None:
        self._socket.close()


def elements(tensor: Any, attached: bytes) -> bytes:
    """Returns the elements of a UINT8 or FLOAT32 tensor."""
    if not tensor.HasField("attachment_offset"):
        return bytes(tensor.data)
    count = {1: 1, 6: 1, 9: 8, 10: 2, 11: 4}.get(tensor.data_type, 0)
    for axis in tensor.shape:
        count *= axis
    return attached[tensor.attachment_offset : tensor.attachment_offset + count]
