"""Makes the sessions of a process: on the front's order, or from the session that it was forked with."""

from __future__ import annotations

import dataclasses
import os
import time

from envwire.codec import FaultError, Reason, encode_warnings
from envwire.server._hosting.libraries import Catalogue
from envwire.server._hosting.making import describe, make_environment
from envwire.server._ipc.frames import SLOT, Frame
from envwire.server._ipc.scoreboard import Scoreboard
from envwire.server._recording.recording import Recording
from envwire.server._session.session import Session
from envwire.server._worker.forking import obstacle
from envwire.server._worker.link.recorded_session import RecordedSession
from envwire.server._worker.raised import RaisedLog
from envwire.server._worker.sessions import ProcessSessions, ServedSession
from envwire.server.config import ServerConfig
from envwire.v1 import environment_pb2

#: A session and the answer to its Make.
Started = tuple[ServedSession, bytes]


class SessionMaker:
    """Makes the sessions of one process.

    Args:
        catalogue: The environments that can be made.
        sessions: The sessions of the process, whose recorder collects warnings while they are made.
        config: The server's settings.
        origin: The session that the process was forked with, if it is a copy.
        scoreboard: Holds the rows of the sessions.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        sessions: ProcessSessions,
        config: ServerConfig,
        origin: ServedSession | None,
        scoreboard: Scoreboard,
    ) -> None:
        self._catalogue = catalogue
        self._sessions, self._warnings = sessions, sessions.warnings
        if config.record:  # an environment may change the directory
            config = dataclasses.replace(config, record=os.path.abspath(config.record))
        self._config = config
        self._origin = origin
        self._scoreboard = scoreboard

    def make(self, frame: Frame) -> Started:
        """Makes the environment that the front ordered.

        Raises:
            FaultError: The environment cannot be made.
            Exception: The environment's own exception.
        """
        slot: int = SLOT.unpack_from(frame.message)[0]
        request = environment_pb2.MakeRequest.FromString(frame.message[SLOT.size :])
        begun = time.monotonic_ns()
        self._scoreboard.begin(slot)  # other sessions of the process wait for it
        try:
            return self._started(frame.session, slot, self._make(request), begun)
        except BaseException:
            self._scoreboard.clear(slot)
            raise

    def _started(self, number: int, slot: int, session: Session, begun: int) -> Started:
        """Gives a session its scoreboard row, and records there how long it took since `begun`, in nanoseconds."""
        made = time.monotonic_ns()
        reply = self._describe(session)
        row = self._scoreboard.row(slot, made - begun, time.monotonic_ns() - made)
        session.counts = row
        if self._config.episodes_counted:
            session.count_episodes()
        return ServedSession(number, row, session), reply

    def _make(self, request: environment_pb2.MakeRequest) -> Session:
        log = self._warnings.log
        env, family = make_environment(self._catalogue, request)
        access = self._catalogue.attribute_access
        kind = RecordedSession if self._config.record else Session
        limit = self._config.max_message_bytes
        session = kind(env, family, log, access, RaisedLog().note, limit)
        if isinstance(session, RecordedSession):
            versions = {library.name: library.version for library in self._catalogue.libraries}
            session.recording = Recording(self._config, request, versions)
        return session

    def copy(self, frame: Frame) -> Started:
        """Takes over the session that this process was forked with.

        Raises:
            FaultError: UNSUPPORTED: the process was forked without a session.
        """
        origin = self._origin
        if origin is None:
            raise FaultError(Reason.UNSUPPORTED, "this process was not forked with a session")
        self._warnings.log = origin.session.warnings
        return self._started(frame.session, 0, origin.session, time.monotonic_ns())

    def _describe(self, session: Session) -> bytes:
        reply = environment_pb2.InteractResponse()
        reply.make.CopyFrom(describe(session.hosted.env, session.hosted.family))
        reply.make.capabilities.extend(session.capabilities)
        if not self._sessions.packed and not obstacle():
            reply.make.capabilities.append("fork")
        reply.make.warnings.extend(encode_warnings(session.warnings.take()))
        if isinstance(session, RecordedSession):
            session.begin_recording(reply.make)
        return reply.SerializeToString()
