"""The server's settings: adding a field here is all that a new setting needs.

Its name is the keyword of `Server` and the key in a TOML file; the option of `envwire serve`, the environment
variable, the row in docs/settings.md and the checks come from its annotation.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Annotated, Any, cast

from envwire.server._settings.checks import (
    DIRECT_PORT,
    FILES,
    LABELS,
    LIMIT,
    LOG_FORMAT,
    NOT_NEGATIVE,
    OPTIONAL_PORT,
    PORT,
    POSITIVE,
    FilePath,
)
from envwire.server._settings.listening import check_listening, is_loopback
from envwire.server._settings.setting import About, check_all, settings_of

_hosting = partial(About, "Hosting")
_limits = partial(About, "Limits (times in seconds)")
_recording = partial(About, "Recording")
_safety = partial(About, "Safety")
_operations = partial(About, "Operations")
_farm = partial(About, "Farm")


@dataclass(frozen=True)
class ServerConfig:
    """Settings of one server; docs/settings.md describes them. Times are in seconds.

    Raises:
        ValueError: Nothing to serve, a public address without protection, or a value that cannot be.
    """

    environments: Annotated[
        Sequence[str],
        _hosting("Ids or patterns: CartPole-v1 'ALE/*'. Quote patterns.", option="ENVIRONMENT..."),
    ]
    _: KW_ONLY
    imports: Annotated[
        Sequence[str],
        _hosting("Module that registers environments; repeat for more.", option="--import"),
    ] = ()
    dev: Annotated[
        bool,
        _hosting(
            "For authors: import edited modules again. New environments get the edited code; those there are go on."
        ),
    ] = False
    host: Annotated[str, _hosting("Address to bind.")] = "127.0.0.1"
    port: Annotated[int, _hosting("Port to bind; 0 for any free one.", PORT)] = 50051
    advertise: Annotated[
        str,
        _hosting("HOST:PORT at which clients continue after a Make, if this server answers there."),
    ] = ""
    direct_port: Annotated[
        int,
        _hosting(
            "Port of the direct channel, which Python clients prefer; 0 for any free port on loopback and none on "
            "other addresses, -1 for none.",
            DIRECT_PORT,
        ),
    ] = 0
    sessions_per_process: Annotated[
        int,
        _hosting(
            "Environments that share a process: less memory, less isolation. A crash or a hang of one ends the others "
            "too.",
            POSITIVE,
        ),
    ] = 1
    shared_memory: Annotated[
        int,
        _hosting(
            "Bytes of memory that an environment may share with a client on this machine, for large messages; 0 for "
            "none.",
            NOT_NEGATIVE,
        ),
    ] = 0
    openenv: Annotated[
        int,
        _hosting(
            "Port of a bridge for OpenEnv's clients, http://HOST:PORT/ENV_ID; 0 for none.", PORT
        ),
    ] = 0
    max_sessions: Annotated[int, _limits("Environments held at once.", POSITIVE)] = 64
    max_envs_per_session: Annotated[
        int,
        _limits("Environments that step together as one session's vector environment.", POSITIVE),
    ] = 1024
    lease: Annotated[
        float,
        _limits(
            "How long an environment outlives its client: time without an open stream, direct channel or request.",
            POSITIVE,
        ),
    ] = 60.0
    max_lease: Annotated[float, _limits("Longest lease that a client may ask for.", POSITIVE)] = (
        3600.0
    )
    step_timeout: Annotated[
        float, _limits("Time for one request; a hung environment is killed after it.", POSITIVE)
    ] = 60.0
    make_timeout: Annotated[float, _limits("Time for making an environment.", POSITIVE)] = 120.0
    drain_timeout: Annotated[
        float, _limits("Time for sessions to end after SIGTERM.", NOT_NEGATIVE)
    ] = 30.0
    max_message_bytes: Annotated[
        int, _limits("Largest message in either direction, in bytes.", POSITIVE)
    ] = 256 * 1024 * 1024
    max_make_bytes: Annotated[
        int,
        _limits(
            "Largest Make, or other request that is parsed before a session gets it, in bytes.",
            POSITIVE,
        ),
    ] = 1024 * 1024
    max_pending_bytes: Annotated[
        int,
        _limits(
            "Bytes of large requests that may wait for one environment, in addition to one request and its repeat.",
            POSITIVE,
        ),
    ] = 16 * 1024 * 1024
    max_pending_bytes_per_client: Annotated[
        int,
        _limits(
            "Bytes of large requests of one client that may wait for all its environments, in addition to one request.",
            POSITIVE,
        ),
    ] = 1024 * 1024 * 1024
    max_sessions_per_client: Annotated[
        int, _limits("Environments held at once by one client; 0 for no such limit.", LIMIT)
    ] = 0
    max_makes_per_minute: Annotated[
        int,
        _limits(
            "Environments that one client may ask for in a minute; 0 for no such limit.", LIMIT
        ),
    ] = 0
    max_session_memory: Annotated[
        int,
        _limits(
            "Bytes that an environment's process may allocate; 0 for no limit. This limit and the next two hold for "
            "each process that an environment starts as well.",
            LIMIT,
        ),
    ] = 0
    max_session_cpu: Annotated[
        int, _limits("Processor time that an environment's process may use; 0 for no limit.", LIMIT)
    ] = 0
    max_session_files: Annotated[
        int,
        _limits(
            "Files that an environment's process may have open; 0 for the system's limit.", FILES
        ),
    ] = 0
    queue: Annotated[
        int,
        _limits("Clients that may wait for a free environment; 0 to refuse them at once.", LIMIT),
    ] = 0
    queue_timeout: Annotated[float, _limits("Longest wait of such a client.", POSITIVE)] = 30.0
    record: Annotated[
        FilePath,
        _recording(
            "Directory to record sessions in, a file each: all that clients ask and environments answer. Clients are "
            "told. Empty for no recordings.",
        ),
    ] = ""
    record_redact: Annotated[
        Sequence[str],
        _recording(
            "Name, or pattern such as '*_key', of keyword arguments, options, info entries and attributes whose values "
            "are not recorded."
        ),
    ] = ()
    record_max_session_bytes: Annotated[
        int,
        _recording(
            "Bytes of one recording, which ends there while its session goes on; 0 for no limit.",
            LIMIT,
        ),
    ] = 1024 * 1024 * 1024
    record_max_bytes: Annotated[
        int,
        _recording(
            "Bytes of all recordings in the directory, beyond which the oldest finished ones are deleted; 0 for no "
            "limit.",
            LIMIT,
        ),
    ] = 10 * 1024 * 1024 * 1024
    record_max_age: Annotated[
        float,
        _recording(
            "Seconds after which a finished recording is deleted; 0 to keep it.", NOT_NEGATIVE
        ),
    ] = 0.0
    allow_kwargs: Annotated[
        Sequence[str],
        _safety(
            "Keyword arguments that clients of a public address may pass, with rules for their values: name,name or "
            "ID=size:int[1..9],slip:bool,map:{4x4,8x8}."
        ),
    ] = ()
    allow_wrappers: Annotated[
        Sequence[str],
        _safety("Wrapper module:Class that clients may ask for.", option="--allow-wrapper"),
    ] = ()
    allow_attributes: Annotated[
        Sequence[str],
        _safety(
            "Attribute, or pattern, that clients of a public address may read and set.",
            option="--allow-attribute",
        ),
    ] = ()
    allow_methods: Annotated[
        Sequence[str],
        _safety(
            "Method, or pattern, that clients of a public address may call.",
            option="--allow-method",
        ),
    ] = ()
    tls_cert: Annotated[
        FilePath, _safety("PEM file of the server's certificate; it is reloaded when it changes.")
    ] = ""
    tls_key: Annotated[FilePath, _safety("PEM file of its key.")] = ""
    tls_client_ca: Annotated[
        FilePath, _safety("PEM file of the CA whose client certificates are accepted.")
    ] = ""
    tokens: Annotated[
        FilePath, _safety("File of the accepted tokens; `envwire token` prints its lines.")
    ] = ""
    share_processes: Annotated[
        bool,
        _safety(
            "Let environments of different clients share a process, for clients that trust each other. By default each "
            "client has processes of its own."
        ),
    ] = False
    insecure: Annotated[
        bool,
        _safety("Bind an address other than loopback without TLS and without authentication."),
    ] = False
    log_format: Annotated[
        str,
        _operations(
            "Form of the log: text, or json for one object a line, with session, client, environment and reason as "
            "fields.",
            LOG_FORMAT,
        ),
    ] = "text"
    http_port: Annotated[
        int,
        _operations(
            "Port of HTTP for operators: /livez and /readyz for probes, /metrics for Prometheus; 0 for none.",
            OPTIONAL_PORT,
        ),
    ] = 0
    frames: Annotated[
        bool,
        _operations(
            'Let watchers see pictures of environments that were made with render_mode="rgb_array": twice a second at '
            "most, between requests."
        ),
    ] = False
    watch_others: Annotated[
        bool,
        _operations(
            "Let scope watch show pictures, output and errors of all sessions, not only of those that the token made."
        ),
    ] = False
    join: Annotated[
        Sequence[str],
        _farm("HOST:PORT of a farm's gateway to register with; repeat, or separate by commas."),
    ] = ()
    join_token: Annotated[
        FilePath, _farm("File with the token, of scope join, for the gateways.")
    ] = ""
    join_ca: Annotated[
        FilePath, _farm("PEM file of the CA that issued the gateways' certificates.")
    ] = ""
    labels: Annotated[
        Sequence[str],
        _farm("NAME=VALUE that allocations in the farm can ask for.", LABELS, option="--label"),
    ] = ()
    #: Directories to put in front of the module search path. Set by programs, not by operators.
    sys_path: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Refuses settings that cannot work."""
        check_all(SETTINGS, self)
        if not self.environments:
            raise ValueError(
                "nothing to serve: name at least one environment id or pattern, such as CartPole-v1"
            )
        check_listening(self)
        if self.openenv and self.tls_client_ca:
            raise ValueError(
                "--openenv does not go with --tls-client-ca: OpenEnv's clients show no certificate; give --tokens"
            )

        if self.dev and (self.sessions_per_process > 1 or self.join):
            raise ValueError(
                "--dev goes neither with --sessions-per-process, since a process keeps the code that it began with, "
                "nor with --join"
            )

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        return is_loopback(self.host)

    def to_json(self) -> str:
        """Returns the settings as one line of JSON, for the processes of this server."""
        return json.dumps(dataclasses.asdict(self), default=os.fspath)

    @classmethod
    def from_json(cls, text: str) -> ServerConfig:
        """Reads what `to_json` wrote."""
        fields: dict[str, Any] = json.loads(text)
        return cls(**freeze_lists(fields))


def freeze_lists(fields: dict[str, Any]) -> dict[str, Any]:
    """Returns the fields with a tuple for each list, set or the like; a single text is none of them."""
    return {name: _frozen(value) for name, value in fields.items()}


def _frozen(value: object) -> object:
    if isinstance(value, str) or not isinstance(value, Iterable):
        return value
    return tuple(cast("Iterable[object]", value))


#: All that an operator sets, by name.
SETTINGS = settings_of(ServerConfig)
