"""Session headers: how a request says which session it belongs to."""

from __future__ import annotations

from typing import NamedTuple

from envwire.v1 import environment_pb2 as pb


class SessionIdentity(NamedTuple):
    """A session's id, and the secret that proves that a request comes from its owner."""

    session_id: str
    secret: bytes

    @property
    def reference(self) -> pb.SessionHeader:
        """The session header as a message, for a request that refers to this session from another one."""
        return pb.SessionHeader(session_id=self.session_id, secret=self.secret)


def without_number(raw: bytes) -> bytes:
    """Returns a request without session header and number, as a recording keeps it."""
    request = pb.InteractRequest.FromString(raw)
    getattr(request, request.WhichOneof("request") or "").ClearField("sequence")
    return request.SerializeToString()
