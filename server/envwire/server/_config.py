"""The server's settings, one value for all that the command line and `Server` take."""

from __future__ import annotations

import dataclasses
import ipaddress
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from envwire.server._policy import Policy


@dataclass(frozen=True)
class ServerConfig:
    """Settings of one server. Times are in seconds.

    Attributes:
        environments: Ids or shell patterns of the environments to serve.
        imports: Modules to import first; they register environments.
        host: Address to bind.
        port: Port to bind; 0 for any free one.
        advertise: HOST:PORT that clients are told; empty for the bound one.
        max_sessions: Sessions held at most.
        lease: Time without an open stream and without a request after which a session ends.
        max_lease: Longest lease that a client may ask for.
        step_timeout: Time one request may take before its session is ended.
        make_timeout: Time that making an environment may take.
        drain_timeout: Time that sessions have to end after SIGTERM.
        max_message_bytes: Largest message in either direction.
        allow_kwargs: Keyword arguments that clients of a public address may pass: "name,name" or "ID=name,name".
        allow_wrappers: Wrappers beyond the libraries' own, "module:Class".
        insecure: Whether an address other than loopback may be bound without TLS and tokens.
        sys_path: Directories to put in front of the module search path.
    """

    environments: tuple[str, ...]
    imports: tuple[str, ...] = ()
    host: str = "127.0.0.1"
    port: int = 50051
    advertise: str = ""
    max_sessions: int = 64
    lease: float = 60.0
    max_lease: float = 3600.0
    step_timeout: float = 60.0
    make_timeout: float = 120.0
    drain_timeout: float = 30.0
    max_message_bytes: int = 256 * 1024 * 1024
    allow_kwargs: tuple[str, ...] = ()
    allow_wrappers: tuple[str, ...] = ()
    insecure: bool = False
    sys_path: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuses settings that cannot work.

        Raises:
            ValueError: Nothing to serve, a public address without `insecure`, or a number out of range.
        """
        if not self.environments:
            raise ValueError(
                "nothing to serve: name at least one environment id or pattern, such as CartPole-v1"
            )
        if not self.loopback and not self.insecure:
            raise ValueError(
                f"refusing to bind {self.host}: anybody who reaches it could run environments here. Bind 127.0.0.1, "
                "or say --insecure when the network around it is trusted (TLS and tokens are not there yet)"
            )
        for name in (
            "max_sessions",
            "lease",
            "max_lease",
            "step_timeout",
            "make_timeout",
            "max_message_bytes",
        ):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be more than 0")

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
        from envwire.server._policy import Policy

        return Policy.from_lists(
            any_kwargs=self.loopback,
            allow_kwargs=self.allow_kwargs,
            allow_wrappers=self.allow_wrappers,
        )

    def to_json(self) -> str:
        """Returns the settings as one line of JSON, for the processes of this server."""
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, text: str) -> ServerConfig:
        """Reads what `to_json` wrote."""
        fields: dict[str, Any] = json.loads(text)
        for name, value in fields.items():
            if isinstance(value, list):
                fields[name] = tuple(fields[name])
        return cls(**fields)
