"""A session that is recorded: each request that is served, once, with its response."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from envwire.codec import CodecError
from envwire.server._recording.files import AppendedFile
from envwire.server._recording.recording import Recording
from envwire.server._session.session import Session
from envwire.v1 import environment_pb2 as pb
from envwire.v1.recording_pb2 import RecordingEnd
from envwire.wire.frames import Packet


class RecordingSession(Session):
    """A session that records what it serves. A subclass, so that other sessions do not pay for it, not even a check.

    Repeated requests (answered with the kept reply) and refused ones are not recorded.

    Attributes:
        recording: The recording, from `begin_recording` on.
    """

    recording: Recording
    _asked = b""

    def begin_recording(self, made: pb.MakeResponse, file: AppendedFile | None) -> None:
        """Begins the recording with the answer to Make, and writes its name into that answer."""
        self.recording.begin(made, file)
        made.recording = self.recording.name

    def copied(self) -> None:
        """Restarts the numbering of requests, with a new recording."""
        super().copied()
        self.recording = self.recording.copy()

    def handle(self, raw: bytes, attach: bool = False, attach_step: bool = True) -> Packet:
        """Serves one request (see `Session.handle`)."""
        self._asked = raw
        return super().handle(raw, attach, attach_step)

    def end(self) -> None:
        """Closes the environment if the client did not, and ends the recording."""
        try:
            super().end()
        finally:
            self.recording.finish(RecordingEnd.REASON_ENDED)

    def _guarded(self, serve: Callable[..., Packet], *args: Any) -> Packet:
        kind = args[0] if serve == self._serve else "step"
        self.recording.add_request(_opened(args[1]) if kind == "replay" else self._recordable())
        reply = super()._guarded(serve, *args)
        self.recording.add_response(reply)
        if kind == "close":
            self.recording.finish(RecordingEnd.REASON_CLOSED)
        return reply

    def _recordable(self) -> bytes:
        """Returns the request, with its arrays even if they are on a device."""
        arrays = self.hosted.family.arrays
        if arrays is None:
            return self._asked
        try:
            return arrays.request_in_host_memory(self._asked, own=False)
        except CodecError:  # it is about to be refused
            return self._asked

    def _serve_recorded(self, kind: str, body: Any) -> bytes:
        body.ClearField("header")  # it names the lost session
        self._asked = pb.InteractRequest(**{kind: body}).SerializeToString()
        return super()._serve_recorded(kind, body)


def _opened(replay: pb.ReplayRequest) -> bytes:
    """Returns a Replay without its requests, which are recorded one by one after it."""
    opened = pb.InteractRequest(replay=replay)
    opened.replay.ClearField("requests")
    return opened.SerializeToString()
