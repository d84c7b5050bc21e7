"""Limits: sessions, times, bytes and the queue."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from envwire.server._settings.checks import FILES, LIMIT, NOT_NEGATIVE, POSITIVE
from envwire.server._settings.setting import PerGroup, setting

_setting = partial(setting, "Limits (times in seconds)")
_inherited = partial(_setting, per_group=PerGroup.INHERITED)


@dataclass(frozen=True, kw_only=True)
class LimitsSettings:
    """Limits of sessions, times and bytes; times are in seconds."""

    max_sessions: int = _inherited(64, "Environments held at once.", POSITIVE)
    max_envs_per_session: int = _setting(
        1024, "Environments that step together as one session's vector environment.", POSITIVE
    )
    lease: float = _setting(
        60.0,
        "How long an environment outlives its client: time without an open stream, direct channel or request.",
        POSITIVE,
    )
    max_lease: float = _setting(3600.0, "Longest lease that a client may ask for.", POSITIVE)
    max_idle: float = _setting(
        0.0,
        "How long a connected client may keep an environment without a request; 0 for ever.",
        NOT_NEGATIVE,
    )
    step_timeout: float = _inherited(
        60.0, "Time for one request; a hung environment is killed after it.", POSITIVE
    )
    make_timeout: float = _inherited(120.0, "Time for making an environment.", POSITIVE)
    drain_timeout: float = _setting(30.0, "Time for sessions to end after SIGTERM.", NOT_NEGATIVE)
    max_message_bytes: int = _setting(
        256 * 1024 * 1024, "Largest message in either direction, in bytes.", POSITIVE
    )
    max_make_bytes: int = _setting(
        1024 * 1024,
        "Largest Make, or other request that is parsed before a session gets it, in bytes.",
        POSITIVE,
    )
    max_pending_bytes: int = _setting(
        16 * 1024 * 1024,
        "Bytes of large requests that may wait for one environment, in addition to one request and its repeat.",
        POSITIVE,
    )
    max_pending_bytes_per_client: int = _setting(
        1024 * 1024 * 1024,
        "Bytes of large requests of one client that may wait for all its environments, in addition to one request.",
        POSITIVE,
    )
    max_sessions_per_client: int = _setting(
        0, "Environments held at once by one client; 0 for no such limit.", LIMIT
    )
    max_makes_per_minute: int = _setting(
        0, "Environments that one client may ask for in a minute; 0 for no such limit.", LIMIT
    )
    max_session_memory: int = _inherited(
        0,
        "Bytes that an environment's process may allocate; 0 for no limit. This limit and the next two hold for "
        "each process that an environment starts as well.",
        LIMIT,
    )
    max_session_cpu: int = _inherited(
        0, "Processor time that an environment's process may use; 0 for no limit.", LIMIT
    )
    max_session_files: int = _inherited(
        0, "Files that an environment's process may have open; 0 for the system's limit.", FILES
    )
    queue: int = _setting(
        0, "Clients that may wait for a free environment; 0 to refuse them at once.", LIMIT
    )
    queue_timeout: float = _setting(30.0, "Longest wait of such a client.", POSITIVE)
