"""Starts the program of a session, and makes the session that suits it."""

from __future__ import annotations

import shlex
from collections.abc import Callable

from envwire.codec import FaultError
from envwire.server._auth.attribute_access import AttributeAccess
from envwire.server._session.warning_log import WarningLog
from envwire.server._worker.program.lending_session import LendingSession
from envwire.server._worker.program.loan import DIRECT
from envwire.server._worker.program.program import Program
from envwire.server._worker.program.session import ProgramSession, RecordedProgramSession
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
        kind = RecordedProgramSession
    elif DIRECT in made.capabilities and not config.episodes_counted:
        kind = LendingSession
    limit = config.max_message_bytes
    return kind(program, made, warning_log, attribute_access, on_raised, limit)
