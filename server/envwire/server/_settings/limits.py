"""Limits (sessions, times, bytes and the queue), and access: what clients may ask for, TLS and tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from envwire.server._settings.checks import FILES, LIMIT, NOT_NEGATIVE, POSITIVE, FilePath
from envwire.server._settings.setting import setting

_limit = partial(setting, "Limits (times in seconds)")


@dataclass(frozen=True, kw_only=True)
class LimitsSettings:
    """Limits of sessions, times and bytes; times are in seconds."""

    max_sessions: int = _limit(64, "Environments held at once.", POSITIVE)
    max_envs_per_session: int = _limit(
        1024, "Environments that step together as one session's vector environment.", POSITIVE
    )
    lease: float = _limit(
        60.0,
        "How long an environment outlives its client: time without an open stream, direct channel or request.",
        POSITIVE,
    )
    max_lease: float = _limit(3600.0, "Longest lease that a client may ask for.", POSITIVE)
    max_idle: float = _limit(
        0.0,
        "How long a connected client may keep an environment without a request; 0 for ever.",
        NOT_NEGATIVE,
    )
    step_timeout: float = _limit(
        60.0, "Time for one request; a hung environment is killed after it.", POSITIVE
    )
    make_timeout: float = _limit(120.0, "Time for making an environment.", POSITIVE)
    drain_timeout: float = _limit(30.0, "Time for sessions to end after SIGTERM.", NOT_NEGATIVE)
    max_message_bytes: int = _limit(
        256 * 1024 * 1024, "Largest message in either direction, in bytes.", POSITIVE
    )
    max_make_bytes: int = _limit(
        1024 * 1024,
        "Largest Make, or other request that is parsed before a session gets it, in bytes.",
        POSITIVE,
    )
    max_pending_bytes: int = _limit(
        16 * 1024 * 1024,
        "Bytes of large requests that may wait for one environment, in addition to one request and its repeat.",
        POSITIVE,
    )
    max_pending_bytes_per_client: int = _limit(
        1024 * 1024 * 1024,
        "Bytes of large requests of one client that may wait for all its environments, in addition to one request.",
        POSITIVE,
    )
    max_sessions_per_client: int = _limit(
        0, "Environments held at once by one client; 0 for no such limit.", LIMIT
    )
    max_makes_per_minute: int = _limit(
        0, "Environments that one client may ask for in a minute; 0 for no such limit.", LIMIT
    )
    max_session_memory: int = _limit(
        0,
        "Bytes that an environment's process may allocate; 0 for no limit. This limit and the next two hold for "
        "each process that an environment starts as well.",
        LIMIT,
    )
    max_session_cpu: int = _limit(
        0, "Processor time that an environment's process may use; 0 for no limit.", LIMIT
    )
    max_session_files: int = _limit(
        0, "Files that an environment's process may have open; 0 for the system's limit.", FILES
    )
    queue: int = _limit(
        0, "Clients that may wait for a free environment; 0 to refuse them at once.", LIMIT
    )
    queue_timeout: float = _limit(30.0, "Longest wait of such a client.", POSITIVE)


_safety = partial(setting, "Safety")


@dataclass(frozen=True, kw_only=True)
class SafetySettings:
    """Settings of access: what clients may ask for, TLS and tokens."""

    allow_kwargs: Sequence[str] = _safety(
        (),
        "Keyword arguments that clients of a public address may pass, with rules for their values: name,name or "
        "ID=size:int[1..9],slip:bool,map:{4x4,8x8}.",
    )
    allow_wrappers: Sequence[str] = _safety(
        (), "Wrapper module:Class that clients may ask for.", option="--allow-wrapper"
    )
    allow_attributes: Sequence[str] = _safety(
        (),
        "Attribute, or pattern, that clients of a public address may read and set.",
        option="--allow-attribute",
    )
    allow_methods: Sequence[str] = _safety(
        (),
        "Method, or pattern, that clients of a public address may call.",
        option="--allow-method",
    )
    public: bool = _safety(
        False,
        "Apply the rules of a public address on loopback too: for a server that others reach through a proxy or a "
        "forwarded port. It takes --tokens.",
    )
    tls_cert: FilePath = _safety(
        "", "PEM file of the server's certificate; it is reloaded when it changes."
    )
    tls_key: FilePath = _safety("", "PEM file of its key.")
    tls_client_ca: FilePath = _safety(
        "", "PEM file of the CA whose client certificates are accepted."
    )
    tokens: FilePath = _safety("", "File of the accepted tokens; `envwire token` prints its lines.")
    share_processes: bool = _safety(
        False,
        "Let environments of different clients share a process, for clients that trust each other. By default each "
        "client has processes of its own.",
    )
    insecure: bool = _safety(
        False, "Bind an address other than loopback without TLS and without authentication."
    )
