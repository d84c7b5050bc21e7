"""A session of which a recording is kept: each request that is served, once, and its response."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from envwire.server._session.session import Session
from envwire.v1 import environment_pb2 as pb
from envwire.v1.recording_pb2 import RecordingEnd
from envwire.wire.frames import Packet


class SessionRecording(Protocol):
    """Where the requests and responses of one session are written down. None of its methods raises."""

    @property
    def name(self) -> str:
        """Its name; empty while there is none, or when it could not be begun."""
        ...

    def begin(self, made: pb.MakeResponse) -> None:
        """Begins with the answer to Make."""
        ...

    def add_request(self, raw: bytes) -> None:
        """Records a request that is about to be served."""
        ...

    def add_response(self, packet: Packet) -> None:
        """Records the response to it."""
        ...

    def finish(self, reason: RecordingEnd.Reason.ValueType) -> None:
        """Ends it. Ending it twice is harmless."""
        ...

    def copy(self) -> SessionRecording:
        """Returns that of a copy of the session, in the process that was forked for it."""
        ...


class RecordedSession(Session):
    """A session that writes down what it serves. Others have nothing of it: no look at a switch, no call.

    A repeated request is answered from what was kept, and a refused one is not served: neither is recorded again.

    Attributes:
        recording: Where it is written, from `begin_recording` on.
    """

    recording: SessionRecording
    _asked = b""

    def begin_recording(self, made: pb.MakeResponse) -> None:
        """Begins the recording with the answer to Make, and names it there."""
        self.recording.begin(made)
        made.recording = self.recording.name

    def copied(self) -> None:
        """Begins the order of requests anew, and another recording."""
        super().copied()
        self.recording = self.recording.copy()

    def handle(self, raw: bytes, attach: bool = False) -> Packet:
        """Serves one request (see `Session.handle`)."""
        self._asked = raw
        return super().handle(raw, attach)

    def end(self) -> None:
        """Closes the environment of a session that its client did not close, and ends the recording."""
        try:
            super().end()
        finally:
            self.recording.finish(RecordingEnd.REASON_ENDED)

    def _guarded(self, serve: Callable[..., Packet], *args: Any) -> Packet:
        kind = args[0] if serve == self._serve else "step"
        self.recording.add_request(_opened(args[1]) if kind == "replay" else self._asked)
        reply = super()._guarded(serve, *args)
        self.recording.add_response(reply)
        if kind == "close":
            self.recording.finish(RecordingEnd.REASON_CLOSED)
        return reply

    def _serve_recorded(self, kind: str, body: Any) -> bytes:
        body.ClearField("header")  # of the session that was lost
        self._asked = pb.InteractRequest(**{kind: body}).SerializeToString()
        return super()._serve_recorded(kind, body)


def _opened(replay: pb.ReplayRequest) -> bytes:
    """Returns a Replay without its requests, which are recorded one by one behind it."""
    opened = pb.InteractRequest(replay=replay)
    opened.replay.ClearField("requests")
    return opened.SerializeToString()
