"""Limits: sessions, times, bytes and the queue."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from envwire.server._settings.checks import FILES, LIMIT, NOT_NEGATIVE, POSITIVE
from envwire.server._settings.setting import About, PerGroup

_about = partial(About, "Limits (times in seconds)")


@dataclass(frozen=True, kw_only=True)
class LimitsSettings:
    """Limits of sessions, times and bytes; times are in seconds."""

    max_sessions: Annotated[
        int, _about("Environments held at once.", POSITIVE, per_group=PerGroup.INHERITED)
    ] = 64
    max_envs_per_session: Annotated[
        int,
        _about("Environments that step together as one session's vector environment.", POSITIVE),
    ] = 1024
    lease: Annotated[
        float,
        _about(
            "How long an environment outlives its client: time without an open stream, direct channel or request.",
            POSITIVE,
        ),
    ] = 60.0
    max_lease: Annotated[float, _about("Longest lease that a client may ask for.", POSITIVE)] = (
        3600.0
    )
    step_timeout: Annotated[
        float,
        _about(
            "Time for one request; a hung environment is killed after it.",
            POSITIVE,
            per_group=PerGroup.INHERITED,
        ),
    ] = 60.0
    make_timeout: Annotated[
        float, _about("Time for making an environment.", POSITIVE, per_group=PerGroup.INHERITED)
    ] = 120.0
    drain_timeout: Annotated[
        float, _about("Time for sessions to end after SIGTERM.", NOT_NEGATIVE)
    ] = 30.0
    max_message_bytes: Annotated[
        int, _about("Largest message in either direction, in bytes.", POSITIVE)
    ] = 256 * 1024 * 1024
    max_make_bytes: Annotated[
        int,
        _about(
            "Largest Make, or other request that is parsed before a session gets it, in bytes.",
            POSITIVE,
        ),
    ] = 1024 * 1024
    max_pending_bytes: Annotated[
        int,
        _about(
            "Bytes of large requests that may wait for one environment, in addition to one request and its repeat.",
            POSITIVE,
        ),
    ] = 16 * 1024 * 1024
    max_pending_bytes_per_client: Annotated[
        int,
        _about(
            "Bytes of large requests of one client that may wait for all its environments, in addition to one request.",
            POSITIVE,
        ),
    ] = 1024 * 1024 * 1024
    max_sessions_per_client: Annotated[
        int, _about("Environments held at once by one client; 0 for no such limit.", LIMIT)
    ] = 0
    max_makes_per_minute: Annotated[
        int,
        _about("Environments that one client may ask for in a minute; 0 for no such limit.", LIMIT),
    ] = 0
    max_session_memory: Annotated[
        int,
        _about(
            "Bytes that an environment's process may allocate; 0 for no limit. This limit and the next two hold for "
            "each process that an environment starts as well.",
            LIMIT,
            per_group=PerGroup.INHERITED,
        ),
    ] = 0
    max_session_cpu: Annotated[
        int,
        _about(
            "Processor time that an environment's process may use; 0 for no limit.",
            LIMIT,
            per_group=PerGroup.INHERITED,
        ),
    ] = 0
    max_session_files: Annotated[
        int,
        _about(
            "Files that an environment's process may have open; 0 for the system's limit.",
            FILES,
            per_group=PerGroup.INHERITED,
        ),
    ] = 0
    queue: Annotated[
        int,
        _about("Clients that may wait for a free environment; 0 to refuse them at once.", LIMIT),
    ] = 0
    queue_timeout: Annotated[float, _about("Longest wait of such a client.", POSITIVE)] = 30.0
