"""A client that uses only docs/protocol.md: the direct link of the conformance suite, on a session made over gRPC."""

from __future__ import annotations

from typing import Any

from envwire.conformance.outcomes import FailedError
from envwire.conformance.raw import Access, DirectLink, Session, Trace
from envwire.v1 import environment_pb2 as pb

SECONDS = 60.0


class Stranger:
    """One direct channel to a session.

    Args:
        made: The session.
        address: One of its addresses.
        shared_memory: Whether to ask for shared memory.
    """

    def __init__(self, made: pb.MakeResponse, address: str, shared_memory: bool = False) -> None:
        host = made.address.rpartition(":")[0] or "127.0.0.1"
        self._link = DirectLink(Access(made.address), host, address, SECONDS, Trace())
        self._session = Session(made, self._link, SECONDS)
        self.hello = self._link.hello(self._session.header, shared_memory=shared_memory)

    @property
    def shares_memory(self) -> bool:
        """Whether the server offered shared memory."""
        return self._link.memory is not None

    def ask(self, kind: str, sequence: int, **fields: Any) -> tuple[pb.InteractResponse, bytes]:
        """Sends a request; returns the answer and its attachments.

        Raises:
            ConnectionError: The server closed the channel.
        """
        try:
            answer = self._session.peek(kind, sequence, **fields)
        except (FailedError, OSError) as error:
            raise ConnectionError("closed") from error
        if answer.slot and self._link.memory is not None:
            self._link.memory[answer.slot - 1] = 0  # given back
        return answer.response, answer.attachments

    def close(self) -> None:
        """Closes the channel."""
        self._link.close()


def elements(tensor: Any, attached: bytes) -> bytes:
    """Returns the elements of a UINT8 or FLOAT32 tensor."""
    if not tensor.HasField("attachment_offset"):
        return bytes(tensor.data)
    count = {1: 1, 6: 1, 9: 8, 10: 2, 11: 4}.get(tensor.data_type, 0)
    for axis in tensor.shape:
        count *= axis
    return attached[tensor.attachment_offset : tensor.attachment_offset + count]
