"""A conversation with one session: numbered requests out, replies in, their errors raised and their warnings given."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Iterable
from typing import Any

from google.protobuf.duration_pb2 import Duration

from envwire.client._session.recording import Recording, RecordingTransport
from envwire.client._session.resuming import ResumingTransport
from envwire.client._transports.transport import Transport
from envwire.client.errors import exception
from envwire.codec import Family, Reason, decode_fault, decode_warnings, envwire_family
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import status_pb2
from envwire.wire.envelope import session_header
from envwire.wire.frames import Area, Reply

#: Seconds to wait for an environment to be made, when the caller sets no timeout: more than a server allows by default.
MAKE_SECONDS = 180.0
#: Seconds to wait beyond the server's own limit, whose error says more than a timeout here.
_SLACK_SECONDS = 10.0

#: A Make has an id, under which it is repeated when its answer was lost.
_REQUEST_ID_BYTES = 16

#: A reply, and what is attached to it.
Answer = tuple[pb.InteractResponse, "Area | None"]


class Conversation:
    """The client's side of a conversation with one session.

    Args:
        transport: How to reach the server.
        family: Classes to build spaces and errors of.
        timeout: Seconds to wait for a reply; None for a little more than the server allows itself.
        label: Shown as the place of warnings that the environment gave.
        recording: Takes what changes the environment; None to record nothing.

    Attributes:
        lease: Seconds that the session outlives this program.
        pid: The process that it was made in.
        capabilities: What the server can do with the session besides, by name.
    """

    def __init__(
        self,
        transport: Transport,
        family: Family,
        timeout: float | None,
        label: str,
        recording: Recording | None = None,
    ) -> None:
        self._transport = (
            ResumingTransport(transport, label)
            if recording is None
            else RecordingTransport(transport, label, recording)
        )
        self._resuming: ResumingTransport = self._transport
        self._family = family
        self._timeout = timeout
        self._label = label
        self._lock = threading.Lock()
        self._warned: dict[str | tuple[Any, ...], Any] = {}
        self._id = ""
        self._secret = b""
        self._sequence: int = 0
        self._in_doubt = False
        self._wait = timeout or MAKE_SECONDS
        self.lease = 0.0
        self.pid = os.getpid()
        self.capabilities: frozenset[str] = frozenset()

    def make(self, request: pb.MakeRequest) -> pb.MakeResponse:
        """Makes the environment.

        Raises:
            RemoteError: The server refused, or the environment could not be made.
        """
        named = pb.InteractRequest(make=request)
        named.make.request_id = os.urandom(_REQUEST_ID_BYTES)
        raw = named.SerializeToString()
        reply, _ = parsed(self._transport.exchange(raw, self._wait))
        made = reply.make
        self._id, self._secret = made.session_id, made.secret
        self._transport.header = session_header(made.session_id, made.secret)
        self.lease = self._transport.lease = _seconds(made.lease)
        self.capabilities = frozenset(made.capabilities)
        if self._timeout is None:
            self._wait = _seconds(made.step_timeout) + _SLACK_SECONDS
        self._check(reply)
        return made

    @property
    def reference(self) -> pb.SessionHeader:
        """Names the session to its server."""
        return pb.SessionHeader(session_id=self._id, secret=self._secret)

    @property
    def resumed(self) -> int:
        """Returns how often the session went on after its connection broke."""
        return self._resuming.resumed

    def keep_alive(self) -> None:
        """Renews the lease, without waiting."""
        request = pb.InteractRequest(renew_lease=pb.RenewLeaseRequest())
        self._transport.keep_alive(request.SerializeToString())

    def stats(self) -> pb.GetSessionStatsResponse:
        """Returns how the session's time was spent on the server."""
        request = pb.InteractRequest(get_session_stats=pb.GetSessionStatsRequest())
        reply, _ = self._exchange(request)
        self._check(reply)
        return reply.get_session_stats

    def close(self, timeout: float | None = None) -> None:
        """Closes the environment and frees the transport.

        Args:
            timeout: Seconds that it may take in all; by default as long as any request.

        Raises:
            RemoteError: The environment was not closed, or told an error; the transport is freed all the same.
        """
        self._wait = self._wait if timeout is None else min(self._wait, timeout)
        try:
            if self._id and self._lock.acquire(timeout=self._wait):
                self._lock.release()
                self._transport.end()
                request = pb.InteractRequest()
                self._ask(request, request.close)
        finally:
            self._transport.close()

    def drop(self) -> None:
        """Frees the transport of a session that is gone."""
        self._transport.close()

    def _ask(self, request: pb.InteractRequest, body: Any) -> Answer:
        """Numbers a request of the session, sends it, and returns the answer and what is attached to it."""
        with self._lock:
            reply, area = self._send_numbered(request, body)
        self._check(reply)
        return reply, area

    def _send_numbered(self, request: pb.InteractRequest, body: Any) -> Answer:
        """Sends a request under the next number.

        When an earlier request failed on its way, nobody here knows whether its number was used. The server does: if it
        was not, the server asks for that number, and gets this request under it.
        """
        self._sequence += 1
        body.sequence = self._sequence
        in_doubt, self._in_doubt = self._in_doubt, True
        answer = self._exchange(request)
        self._in_doubt = False
        if in_doubt and (expected := _expected(answer[0])):
            self._sequence = body.sequence = expected
            answer = self._exchange(request)
        return answer

    def _exchange(self, request: pb.InteractRequest) -> Answer:
        return parsed(self._transport.exchange(request.SerializeToString(), self._wait))

    def _check(self, reply: pb.InteractResponse) -> None:
        """Raises the error that a reply holds, and gives the warnings that it carries."""
        kind = reply.WhichOneof("response")
        if kind == "error":
            raise exception(decode_fault(reply.error, self._family), self._family)
        given = getattr(getattr(reply, kind or ""), "warnings", ())
        if given:
            self._warn(given)

    def _warn(self, given: Iterable[status_pb2.Warning]) -> None:
        """Gives the environment's warnings here, where this program's filters apply to them."""
        for category, text in decode_warnings(given):
            warnings.warn_explicit(text, category, self._label, 0, "envwire.remote", self._warned)


def parsed(reply: Reply) -> Answer:
    """Reads a reply; whether it holds an error is for the caller to see."""
    return pb.InteractResponse.FromString(reply.message), reply.area


def _expected(reply: pb.InteractResponse) -> int | None:
    """Returns the number that a server asked for instead of the one it got."""
    if not reply.HasField("error"):
        return None
    fault = decode_fault(reply.error, envwire_family())
    return int(fault.metadata["expected"]) if fault.reason is Reason.SEQUENCE_GAP else None


def _seconds(duration: Duration) -> float:
    return duration.seconds + duration.nanos / 1e9
