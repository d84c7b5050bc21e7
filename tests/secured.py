"""Certificates and tokens for tests, and a server that asks for both: made when first asked for, gone at the end."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from envwire.client import Credentials
from envwire.server import Server
from envwire.server._certificates import Issued, issue
from envwire.server._scopes import Scope
from envwire.server._tokens import new_token
from tests.conftest import HOSTED, SETTINGS

HOSTS = ("localhost", "127.0.0.1")


@dataclass(frozen=True)
class Certificates:
    """A directory with an authority's certificates, and with what may be wrong with such.

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


@cache
def _directory() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory()


@cache
def certificates() -> Certificates:
    """Returns certificates for all tests."""
    directory = Path(_directory().name)
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


@dataclass(frozen=True)
class Secured:
    """A running server, and what it takes to be let in."""

    server: Server
    credentials: Credentials


@cache
def secured() -> Secured:
    """Returns a server of everything that the tests drive, which asks for certificate and token; it runs to the end."""
    tokens = Path(_directory().name) / "tokens"
    token = write_tokens(tokens, {"tests": [Scope.PLAY]})["tests"]
    protection = certificates().server(ask_clients=True)
    server = Server(HOSTED, **SETTINGS, **protection, tokens=tokens).start()
    return Secured(server, certificates().client(token=token))
