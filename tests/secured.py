"""Certificates and tokens for tests, and what asks for them: made when first asked for, gone at the end."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import grpc
import pytest

from envwire.client import Credentials
from envwire.client._transports.by_name import TRANSPORTS
from envwire.server import Server
from envwire.server._auth.certificates import Issued, issue
from envwire.server._auth.scopes import Scope
from envwire.server._auth.tokens import new_token
from tests.conftest import HOSTED, SETTINGS
from tests.forked_servers import LASTING

#: Of the server's certificate; the last is where the wires of the fault tests listen.
HOSTS = ("localhost", "127.0.0.1", "127.0.0.2")


@dataclass(frozen=True)
class Certificates:
    """A directory with an authority's certificates, and with invalid ones.

    It holds NAME.pem and NAME-key.pem for ca, server, client; expired and expired-client; elsewhere, for another host;
    and other-ca, other-server, other-client of an authority that nobody trusts.
    """

    directory: Path

    def path(self, name: str) -> Path:
        """Returns the path of a PEM file."""
        return self.directory / f"{name}.pem"

    def server(self, name: str = "server", *, ask_clients: bool = False) -> dict[str, Any]:
        """Returns the settings of a server with this certificate."""
        settings: dict[str, Any] = {
            "tls_cert": self.path(name),
            "tls_key": self.path(f"{name}-key"),
        }
        return settings | ({"tls_client_ca": self.path("ca")} if ask_clients else {})

    def client(self, name: str = "client", **settings: Any) -> Credentials:
        """Returns the credentials of a client with this certificate."""
        given: dict[str, Any] = {
            "ca": self.path("ca"),
            "cert": self.path(name),
            "key": self.path(f"{name}-key"),
            "token": None,
        }
        return Credentials(**{**given, **settings})


#: Processes that run tests are forked when it is there: it ends with the one that made it.
_DIRECTORY = tempfile.TemporaryDirectory()


@cache
def certificates() -> Certificates:
    """Returns certificates for all tests."""
    directory = Path(_DIRECTORY.name)
    ca, other = issue("CA"), issue("other CA")
    issued: dict[str, Issued] = {
        "ca": ca,
        "server": issue("server", issuer=ca, hosts=HOSTS),
        "client": issue("agent", issuer=ca, client=True),
        "second-client": issue("second agent", issuer=ca, client=True),
        "expired": issue("expired", issuer=ca, hosts=HOSTS, days=-1),
        "expired-client": issue("expired", issuer=ca, client=True, days=-1),
        "elsewhere": issue("elsewhere", issuer=ca, hosts=["elsewhere.example"]),
        "other-ca": other,
        "other-server": issue("server", issuer=other, hosts=HOSTS),
        "other-client": issue("agent", issuer=other, client=True),
    }
    for name, one in issued.items():
        one.write(directory, name)
    return Certificates(directory)


def write_tokens(path: Path, names: dict[str, Iterable[Scope]]) -> dict[str, str]:
    """Writes a file with a new token for each name; returns the tokens by name."""
    made = {name: new_token(name, scopes) for name, scopes in names.items()}
    path.write_text("".join(f"{line}\n" for _, line in made.values()))
    return {name: token for name, (token, _) in made.items()}


@dataclass(frozen=True, eq=False)
class Guard:
    """What servers ask of their clients.

    Attributes:
        settings: Of such a server.
        variables: Environment variables of a client that is let in.
    """

    settings: dict[str, Any]
    variables: dict[str, str]

    @property
    def strict(self) -> bool:
        """Whether anything is asked for."""
        return bool(self.settings)

    @property
    def credentials(self) -> Credentials:
        """The same, for programs that hand it over."""
        ca, cert, key, token = (
            self.variables.get(f"ENVWIRE_{name}") for name in ("CA", "CERT", "KEY", "TOKEN")
        )
        return Credentials(ca, cert, key, token)

    def enter(self, patch: pytest.MonkeyPatch) -> None:
        """Gives all clients valid credentials from now on, by the variables that users set.

        On its direct channels there is TLS, too: it takes TCP, as to another machine, and falls back to nothing.
        """
        for name, value in self.variables.items():
            patch.setenv(name, value)
        if self.strict:
            open_tcp = TRANSPORTS["direct-tcp"]
            patch.setitem(TRANSPORTS, "direct", lambda _, *given: open_tcp("direct-tcp", *given))

    def channel(self, target: str) -> grpc.Channel:
        """Opens a channel as programs do that know nothing of envwire's client."""
        if not self.strict:
            return grpc.insecure_channel(target)
        ca, key, cert = (
            Path(self.variables[f"ENVWIRE_{name}"]).read_bytes() for name in ("CA", "KEY", "CERT")
        )
        token = grpc.access_token_call_credentials(self.variables["ENVWIRE_TOKEN"])
        whole = grpc.composite_channel_credentials(
            grpc.ssl_channel_credentials(ca, key, cert), token
        )
        return grpc.secure_channel(target, whole)


#: Asks for nothing.
OPEN = Guard({}, {})


def _file_of_tokens(name: str) -> Path:
    """Returns a path of this process alone: each has servers and tokens of its own."""
    return Path(_DIRECTORY.name) / f"{name} {os.getpid()}"


@cache
def strict() -> Guard:
    """Returns a guard that asks for a client certificate and a token."""
    tokens = _file_of_tokens("tokens")
    token = write_tokens(tokens, {"tests": [Scope.PLAY]})["tests"]
    files = {"CA": "ca", "CERT": "client", "KEY": "client-key"}
    paths = {f"ENVWIRE_{name}": str(certificates().path(file)) for name, file in files.items()}
    settings = certificates().server(ask_clients=True) | {"tokens": tokens}
    return Guard(settings, paths | {"ENVWIRE_TOKEN": token})


@cache
def public() -> Guard:
    """Returns a guard that asks for a token, of clients of anywhere: their connections pass the forwarder."""
    tokens = _file_of_tokens("public tokens")
    token = write_tokens(tokens, {"tests": [Scope.PLAY]})["tests"]
    settings = certificates().server() | {"tokens": tokens, "public": True}
    return Guard(settings, {"ENVWIRE_CA": str(certificates().path("ca")), "ENVWIRE_TOKEN": token})


#: What tests that hold behind any guard run behind, by name.
GUARDS: dict[str, Callable[[], Guard]] = {"in the clear": lambda: OPEN, "mTLS and token": strict}


@cache
def secured() -> Server:
    """Returns a server of everything that the tests drive, behind the strict guard; it runs to the end."""
    return LASTING.enter_context(Server(HOSTED, **SETTINGS, **strict().settings))
