"""Connection options that all proxies share: transport, timeouts, credentials, lease and recovery."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from numbers import Real
from typing import TYPE_CHECKING, Any

from envwire.client.credentials import Credentials
from envwire.device.devices import check_device_name
from envwire.device.libraries import LIBRARIES
from envwire.wire.encodings import zstandard

if TYPE_CHECKING:
    from envwire.client._session.client_device import ClientDevice
    from envwire.client._transports.transport import Transport

#: The recovery strategies, by name.
ON_LOST = ("raise", "truncate", "replay")
#: When the server may compress arrays.
COMPRESSIONS = ("auto", "zstd", "off")
#: The options that are one of a few words.
_CHOICES = {"on_lost": ON_LOST, "compression": COMPRESSIONS, "arrays": (None, *LIBRARIES)}
#: The options that are seconds, with the least of each; the kernel needs four to tell a dead path from a slow one.
_SECONDS = {"timeout": 0, "connect_timeout": 0, "lease": 0, "liveness": 4}


@dataclass(frozen=True)
class ConnectionOptions:
    """How to connect to servers, and how to recover environments whose session is lost.

    `RemoteEnv` and `RemoteVectorEnv` document the keywords of the same names.

    Attributes:
        transport: Name of a transport, an open one, or None for the default.
        timeout: Seconds to wait for an answer; None for slightly longer than the server's step timeout.
        connect_timeout: Seconds to wait for a server, even one that has not started yet. None: 10 for a server that
            does not answer, and no wait if connections are refused.
        credentials: Certificates and token; None for those from the ENVWIRE_* environment variables.
        lease: Seconds that the environment outlives this program; None for the server's default.
        on_lost: One of `ON_LOST`.
        replay_limit: Most requests that "replay" records.
        device: The device on which arrays stay; None for arrays of NumPy.
        arrays: The library of the arrays there; None for the environment's own.
        copy: Whether arrays are copied out of memory that is shared with the session.
        liveness: Seconds after which a direct channel over TCP without a sign of life is replaced; None for 30.
        compression: When arrays are compressed, one of `COMPRESSIONS`.
        direct_port: The direct port of a server elsewhere; None if only the server's answer tells it.

    Raises:
        TypeError: `credentials` are not `Credentials`, or `replay_limit` is not a number.
        ValueError: `on_lost` is unknown, or a number is negative or NaN.
    """

    transport: str | Transport | None = None
    timeout: float | None = None
    connect_timeout: float | None = None
    credentials: Credentials | None = None
    lease: float | None = None
    on_lost: str = "raise"
    replay_limit: int = 100_000
    device: str | None = None
    arrays: str | None = None
    copy: bool = True
    liveness: float | None = None
    compression: str = "auto"
    direct_port: int | None = None

    @classmethod
    def among(cls, arguments: Mapping[str, Any]) -> ConnectionOptions:
        """Returns the options among the arguments of a proxy's constructor, which have their names."""
        return cls(**{each.name: arguments[each.name] for each in fields(cls)})

    def __post_init__(self) -> None:
        """Checks the options that a wrong type would break later."""
        self._check_kinds()
        for name, choices in _CHOICES.items():
            value = getattr(self, name)
            if value not in choices:
                words = ", ".join(word for word in choices if word)
                raise ValueError(f"unknown {name}={value!r}; choose one of {words}")
        if self.compression == "zstd" and zstandard() is None:
            raise ImportError(
                "compression='zstd' needs Python 3.14 or the package zstandard; install 'envwire[compression]'"
            )
        for name, least in _SECONDS.items():
            value = getattr(self, name)
            if value is not None and not (isinstance(value, Real) and float(value) >= least):
                raise ValueError(f"{name}={value!r} is not a number of seconds, {least} or more")
        if self.direct_port is not None and self.direct_port not in range(1, 65536):
            raise ValueError(f"direct_port={self.direct_port!r} is not a port from 1 to 65535")
        if self.device is None and (self.arrays is not None or not self.copy):
            raise ValueError("arrays= and copy= need device=, such as device='cuda:0'")
        if self.device is not None:
            check_device_name(self.device)

    def _check_kinds(self) -> None:
        if not isinstance(self.credentials, Credentials | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            kind = type(self.credentials).__name__  # not its text, which may be a token
            raise TypeError(
                f"credentials= is a {kind}; pass Credentials, such as Credentials(token=...)"
            )
        if not isinstance(self.replay_limit, Real):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"replay_limit={self.replay_limit!r} is not a number")
        if not self.replay_limit >= 0:
            raise ValueError(f"replay_limit={self.replay_limit!r} is not a number of requests")

    def new_device(self, *, recorded: bool) -> ClientDevice | None:
        """Returns what a new session shares on its device; None without one.

        Args:
            recorded: Whether its requests are recorded.
        """
        if self.device is None:
            return None
        from envwire.client._session.client_device import ClientDevice

        return ClientDevice(self.device, self.arrays, self.copy, recorded=recorded)

    @property
    def keywords(self) -> dict[str, Any]:
        """The options as keyword arguments of a proxy."""
        return {each.name: getattr(self, each.name) for each in fields(self)}
