"""Makes the sessions of a process: on the front's order, or from the session that it was forked with."""

from __future__ import annotations

import contextlib
import shlex
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from envwire.codec import FaultError, Reason
from envwire.server._auth.attribute_access import AttributeAccess
from envwire.server._grammar import counted
from envwire.server._hosting.environment_making import describe, make_environment
from envwire.server._hosting.libraries import Catalogue
from envwire.server._hosting.vector_hosts import is_vector
from envwire.server._ipc.frames import SLOT, Frame
from envwire.server._ipc.scoreboard import Scoreboard
from envwire.server._recording.files import AppendedFile
from envwire.server._recording.recording import Recording
from envwire.server._session.hosted_env import WarningLog
from envwire.server._session.session import Session
from envwire.server._worker.direct.shared_memory import bytes_of
from envwire.server._worker.process_sessions import ProcessSessions, ServedSession
from envwire.server._worker.process_setup import obstacle
from envwire.server._worker.program.lending import LendingSession
from envwire.server._worker.program.loan import DIRECT
from envwire.server._worker.program.program import Program
from envwire.server._worker.program.program_session import ProgramSession, RecordingProgramSession
from envwire.server._worker.recording_session import RecordingSession
from envwire.server.config import ServerConfig
from envwire.v1 import environment_pb2 as pb


def start_program_session(
    config: ServerConfig,
    request: pb.MakeRequest,
    warning_log: WarningLog,
    attribute_access: AttributeAccess,
    on_raised: Callable[[FaultError], None],
) -> ProgramSession:
    """Starts a program and has it make its environment.

    Recordings and counts of episodes need each answer, so such connections are not lent.

    Args:
        config: The server's settings.
        request: The client's Make.
        warning_log: See `ProgramSession`.
        attribute_access: The attributes that clients may reach.
        on_raised: Called with each exception of the environment.

    Raises:
        FaultError: The program cannot be started or make the environment.
    """
    program = Program(shlex.split(config.program), config.max_message_bytes)
    made = program.make(request)
    kind = ProgramSession
    if config.record:
        kind = RecordingProgramSession
    elif DIRECT in made.capabilities and not config.episodes_counted:
        kind = LendingSession
    limit = config.max_message_bytes
    return kind(program, made, warning_log, attribute_access, on_raised, limit)


#: Seconds between two tracebacks of one session, since an environment may refuse each action of a long training.
PAUSE_SECONDS = 1.0


class RaisedLog:
    """Prints tracebacks to standard error, which the front reads; tracebacks beyond the rate are only counted.

    Args:
        clock: Monotonic time, in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._next = 0.0
        self._left_out = 0

    def note(self, fault: FaultError) -> None:
        """Prints an environment's exception, or counts it."""
        if self._clock() < self._next:
            self._left_out += 1
            return
        more = f" ({self._left_out} more since the last one)" if self._left_out else ""
        self._next, self._left_out = self._clock() + PAUSE_SECONDS, 0
        lines = (f"the environment raised{more}:", *fault.traceback)
        print("\n".join(lines), file=sys.stderr, flush=True)


#: A session and the answer to its Make.
Started = tuple[ServedSession, bytes]


@dataclass
class ProcessSessionMaker:
    """Makes the sessions of one process.

    Attributes:
        catalogue: The environments that can be made.
        sessions: The sessions of the process, whose recorder collects warnings while they are made.
        config: The server's settings.
        origin: The session that the process was forked with, if it is a copy.
        scoreboard: Holds the rows of the sessions.
        recording_file: Returns the file that the front created for a session, by its number; None if there is none.
    """

    catalogue: Catalogue
    sessions: ProcessSessions
    config: ServerConfig
    origin: ServedSession | None
    scoreboard: Scoreboard
    recording_file: Callable[[int], AppendedFile | None]

    def make(self, frame: Frame) -> Started:
        """Makes the environment that the front ordered.

        Raises:
            FaultError: The environment cannot be made.
            Exception: The environment's own exception.
        """
        slot: int = SLOT.unpack_from(frame.message)[0]
        request = pb.MakeRequest.FromString(frame.message[SLOT.size :])
        begun = time.monotonic_ns()
        self.scoreboard.begin(slot)  # other sessions of the process wait for it
        file = self.recording_file(frame.session)
        try:
            return self._started(frame.session, slot, self._make(request), begun, file)
        except BaseException:
            self.scoreboard.clear(slot)
            if file is not None:
                file.close()
            raise

    def _started(
        self, number: int, slot: int, session: Session, begun: int, file: AppendedFile | None
    ) -> Started:
        """Gives a session its scoreboard row, and records there how long it took since `begun`, in nanoseconds."""
        made = time.monotonic_ns()
        reply = self._describe(session, file)
        row = self.scoreboard.row(slot, made - begun, time.monotonic_ns() - made)
        session.counts = row
        if self.config.episodes_counted:
            session.count_episodes()
        return ServedSession(number, row, session), reply

    def _make(self, request: pb.MakeRequest) -> Session:
        log, access = self.sessions.warnings.log, self.catalogue.attribute_access
        session: Session
        limit, recorded = self.config.max_message_bytes, bool(self.config.record)
        if self.config.program:
            session = start_program_session(self.config, request, log, access, RaisedLog().note)
        else:
            env, family = make_environment(self.catalogue, request)
            check_batch(env, limit)
            kind = RecordingSession if recorded else Session
            session = kind(env, family, log, access, RaisedLog().note, limit)
        if isinstance(session, RecordingSession):
            versions = {library.name: library.version for library in self.catalogue.libraries}
            session.recording = Recording(self.config, request, versions)
        return session

    def copy(self, frame: Frame) -> Started:
        """Takes over the session that this process was forked with.

        Raises:
            FaultError: UNSUPPORTED: the process was forked without a session.
        """
        origin = self.origin
        if origin is None:
            raise FaultError(Reason.UNSUPPORTED, "this process was not forked with a session")
        self.sessions.warnings.log = origin.session.warnings
        file = self.recording_file(frame.session)
        return self._started(frame.session, 0, origin.session, time.monotonic_ns(), file)

    def _describe(self, session: Session, file: AppendedFile | None) -> bytes:
        reply = pb.InteractResponse()
        reply.make.CopyFrom(_description(session))
        reply.make.capabilities.extend(session.capabilities)
        if not self.sessions.packed and not obstacle():
            reply.make.capabilities.append("fork")
        session.warnings.move_to(reply.make)
        if isinstance(session, RecordingSession):
            session.begin_recording(reply.make, file)
        return reply.SerializeToString()


def check_batch(env: Any, limit: int) -> None:
    """Refuses a vector environment whose batches fit into no answer, if those of fewer members would; closes it.

    Args:
        env: The environment.
        limit: Longest answer, in bytes.

    Raises:
        FaultError: MESSAGE_TOO_LARGE.
    """
    if not is_vector(env) or (size := bytes_of(env.observation_space)) <= limit:
        return
    count = env.num_envs
    fitting = limit * count // size
    if not fitting:  # more sessions would not help; the answer to the reset says so
        return
    with contextlib.suppress(Exception):
        env.close()
    raise FaultError(
        Reason.MESSAGE_TOO_LARGE,
        f"{counted(count, 'environment')} with observations of {size} bytes together, and answers hold {limit}: spread "
        f"them over more sessions (sessions=), at most {fitting} in each, or the operator raises that with "
        "--max-message-bytes",
        metadata={"envs_per_session": str(fitting)},
    )


def _description(session: Session) -> pb.MakeResponse:
    if isinstance(session, ProgramSession):
        return session.description
    return describe(session.hosted.env, session.hosted.family)
