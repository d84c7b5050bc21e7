"""The server's settings, one value for all that the command line and `Server` take."""

from __future__ import annotations

import dataclasses
import ipaddress
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from envwire.server._auth.allow_list import Policy
    from envwire.server._auth.attribute_access import Reach

_POSITIVE = (
    "max_sessions",
    "max_envs_per_session",
    "sessions_per_process",
    "lease",
    "max_lease",
    "step_timeout",
    "make_timeout",
    "max_message_bytes",
    "max_make_bytes",
    "queue_timeout",
)
_LIMITS_OR_NONE = (
    "max_sessions_per_client",
    "max_makes_per_minute",
    "max_session_memory",
    "max_session_cpu",
    "max_session_files",
    "queue",
)

_FEWEST_FILES = 32


@dataclass(frozen=True)
class ServerConfig:
    """Settings of one server. Times are in seconds.

    Attributes:
        environments: Ids or shell patterns of the environments to serve.
        imports: Modules to import first; they register environments.
        host: Address to bind.
        port: Port to bind; 0 for any free one.
        advertise: HOST:PORT that clients are told; empty for the bound one.
        direct_port: Port of the direct channel; 0 for any free one on loopback and none elsewhere, -1 for none at all.
        shared_memory: Bytes that a session may share with a client on the same machine, for large frames; 0 for none.
        max_sessions: Sessions held at most.
        max_envs_per_session: Environments of a vector environment that one session takes at most; it counts as one.
        sessions_per_process: Sessions that share a process; one that crashes or hangs takes the others along.
        lease: Time without an open stream and without a request after which a session ends.
        max_lease: Longest lease that a client may ask for.
        step_timeout: Time one request may take before its session is ended.
        make_timeout: Time that making an environment may take.
        drain_timeout: Time that sessions have to end after SIGTERM.
        max_message_bytes: Largest message in either direction.
        max_make_bytes: Largest Make, and largest of any other request that belongs to no session.
        max_sessions_per_client: Sessions held at most for one client; 0 for as many as it likes.
        max_makes_per_minute: Environments that one client may ask for in a minute; 0 for as many as it likes.
        max_session_memory: Bytes that a session's process may allocate; 0 for no limit. This and the next two hold for
            all sessions of a process together, and for each process that an environment starts (see `_containment`).
        max_session_cpu: Seconds of processor time that it may use; 0 for no limit.
        max_session_files: Files that it may have open; 0 for no limit of its own.
        queue: Makes that may wait for a free session; 0 to refuse them at once.
        queue_timeout: Time that one of them may wait.
        allow_kwargs: Keyword arguments that clients of a public address may pass, and what they may be anywhere:
            "name,name", "ID=name,name", "ID=size:int[1..9],map:{4x4,8x8}" (see `_rules`).
        allow_wrappers: Wrappers beyond the libraries' own, "module:Class".
        allow_attributes: Attributes, by shell patterns, that clients of a public address may read and set.
        allow_methods: Methods, by shell patterns, that clients of a public address may call.
        tls_cert: PEM file of the server's certificate; empty for no TLS.
        tls_key: PEM file of its key.
        tls_client_ca: PEM file of the authority whose clients are let in; empty to ask for no client certificates.
        tokens: File of the tokens that are let in (see `_tokens`); empty to ask for none.
        insecure: Whether an address other than loopback may be bound without TLS, and tokens or client certificates.
        sys_path: Directories to put in front of the module search path.
    """

    environments: tuple[str, ...]
    imports: tuple[str, ...] = ()
    host: str = "127.0.0.1"
    port: int = 50051
    advertise: str = ""
    direct_port: int = 0
    shared_memory: int = 0
    max_sessions: int = 64
    max_envs_per_session: int = 1024
    sessions_per_process: int = 1
    lease: float = 60.0
    max_lease: float = 3600.0
    step_timeout: float = 60.0
    make_timeout: float = 120.0
    drain_timeout: float = 30.0
    max_message_bytes: int = 256 * 1024 * 1024
    max_make_bytes: int = 1024 * 1024
    max_sessions_per_client: int = 0
    max_makes_per_minute: int = 0
    max_session_memory: int = 0
    max_session_cpu: int = 0
    max_session_files: int = 0
    queue: int = 0
    queue_timeout: float = 30.0
    allow_kwargs: tuple[str, ...] = ()
    allow_wrappers: tuple[str, ...] = ()
    allow_attributes: tuple[str, ...] = ()
    allow_methods: tuple[str, ...] = ()
    tls_cert: str = ""
    tls_key: str = ""
    tls_client_ca: str = ""
    tokens: str = ""
    insecure: bool = False
    sys_path: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuses settings that cannot work.

        Raises:
            ValueError: Nothing to serve, a public address without protection, or a number out of range.
        """
        if not self.environments:
            raise ValueError(
                "nothing to serve: name at least one environment id or pattern, such as CartPole-v1"
            )
        if bool(self.tls_cert) != bool(self.tls_key) or (self.tls_client_ca and not self.tls_cert):
            raise ValueError(
                "a certificate and its key go together, and a client CA needs both: give --tls-cert and --tls-key "
                "(`envwire certs DIR` makes some to begin with)"
            )
        if not self.loopback and not self.insecure:
            self._check_protected()
        for name in _POSITIVE:
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be more than 0")
        for name in _LIMITS_OR_NONE:
            if getattr(self, name) < 0:
                found = getattr(self, name)
                raise ValueError(f"{name} is {found}; it must be 0, for no limit, or more")

        if 0 < self.max_session_files < _FEWEST_FILES:
            raise ValueError(
                f"max_session_files is {self.max_session_files}; it must be 0, for no limit of its own, or "
                f"{_FEWEST_FILES} or more: the session's process itself opens about a dozen"
            )

    def _check_protected(self) -> None:
        missing = "TLS (--tls-cert, --tls-key)" if not self.tls_cert else ""
        if not self.tokens and not self.tls_client_ca:
            missing += " and " * bool(missing) + "--tokens or --tls-client-ca"
        if missing:
            raise ValueError(
                f"refusing to bind {self.host}: anybody who reaches it could run environments here, or listen in. Give "
                f"{missing}; or bind 127.0.0.1; or say --insecure when the network around it is trusted"
            )

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def policy(self) -> Policy:
        """What clients may ask for."""
        from envwire.server._auth.allow_list import Policy

        return Policy.from_lists(
            any_kwargs=self.loopback,
            allow_kwargs=self.allow_kwargs,
            allow_wrappers=self.allow_wrappers,
            max_envs=self.max_envs_per_session,
        )

    @property
    def reach(self) -> Reach:
        """Which attributes and methods clients may reach."""
        from envwire.server._auth.attribute_access import Reach

        return Reach.from_lists(
            any_name=self.loopback, attributes=self.allow_attributes, methods=self.allow_methods
        )

    def to_json(self) -> str:
        """Returns the settings as one line of JSON, for the processes of this server."""
        return json.dumps(dataclasses.asdict(self), default=os.fspath)

    @classmethod
    def from_json(cls, text: str) -> ServerConfig:
        """Reads what `to_json` wrote."""
        fields: dict[str, Any] = json.loads(text)
        for name, value in fields.items():
            if isinstance(value, list):
                fields[name] = tuple(fields[name])
        return cls(**fields)
