"""The arguments of a proxy, from which it is made again, and the connection options that all proxies share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from numbers import Real
from typing import TYPE_CHECKING, Any

from envwire.client._transports.transport import Transport
from envwire.client.credentials import Credentials
from envwire.device.devices import check_device_name
from envwire.device.libraries import LIBRARIES
from envwire.wire.encodings import zstandard

if TYPE_CHECKING:
    from envwire.client._session.client_device import ClientDevice
    from envwire.client._session.requests import WrapperLike


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
        if not isinstance(self.transport, str | Transport | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            kind = type(self.transport).__name__
            raise TypeError(
                f"transport= is a {kind}; pass a name, or an instance of a subclass of Transport"
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
    def has_open_transport(self) -> bool:
        """Whether `transport` is open already, and not the name of one to open."""
        return isinstance(self.transport, Transport)

    @property
    def keywords(self) -> dict[str, Any]:
        """The options as keyword arguments of a proxy."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


@dataclass(frozen=True)
class ProxyArguments:
    """The arguments of a proxy.

    Attributes:
        proxy_class: The proxy's class.
        target: Address of its server, or a list of addresses.
        env_id: Id of the environment.
        render_mode: Its render mode.
        wrappers: Wrappers on the server.
        library: Library that the id is taken from.
        env_kwargs: Keyword arguments of the environment.
        options: How to connect.
    """

    proxy_class: type
    target: Any
    env_id: str
    render_mode: str | None
    wrappers: Sequence[WrapperLike]
    library: str | None
    env_kwargs: Mapping[str, Any]
    options: ConnectionOptions

    def make(self) -> Any:
        """Makes the proxy again, with its own session."""
        return self._remake(render_mode=self.render_mode)

    @property
    def entry_point(self) -> str | Callable[..., Any]:
        """The function that `make` calls, as a name in this library, so that the spec can be stored and sent.

        With credentials or an open transport it is the function itself: specs may be written to files, which must not
        contain them. The same holds for a class that this library does not define, such as a user's subclass.
        """
        if self._storable:
            return vars(self.proxy_class)["_entry_point"]  # type: ignore[no-any-return]

        def make_remote(**kwargs: Any) -> Any:  # not the class: `make` would read its metadata
            return self._remake(**kwargs)

        return make_remote

    def spec_kwargs(self, of_environment: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the keyword arguments that the entry point is called with.

        Args:
            of_environment: Keyword arguments in the environment's spec on the server.
        """
        if not self._storable:
            return dict(of_environment)
        own = {"target": self.target, "env_id": self.env_id, **self._env_arguments}
        given = {name: value for name, value in own.items() if value}
        options = self.options.keywords.items() - ConnectionOptions().keywords.items()
        return {**of_environment, **given, **dict(options)}

    @property
    def _storable(self) -> bool:
        named = "_entry_point" in vars(self.proxy_class)
        return named and not self.options.has_open_transport and not self.options.credentials

    @property
    def _env_arguments(self) -> dict[str, Any]:
        env_kwargs = dict(self.env_kwargs)
        return {"wrappers": self.wrappers, "library": self.library, "env_kwargs": env_kwargs}

    def _remake(self, /, **overrides: Any) -> Any:
        arguments = {**self._env_arguments, **self.options.keywords, **overrides}
        return self.proxy_class(self.target, self.env_id, **arguments)
