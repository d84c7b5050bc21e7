"""The commands `certs` and `token`, and a protected server that uses their output."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from envwire.server._auth.scopes import Scope
from envwire.server._auth.tokens import read_tokens
from tests.commands import Done, envwire, start


def run(*arguments: str | Path, **variables: str) -> Done:
    """Calls a command with none of envwire's variables but these."""
    unset = {name: None for name in os.environ if name.startswith("ENVWIRE_")}
    return envwire(*arguments, **unset | variables)


def succeeds(*arguments: str | Path, **variables: str) -> str:
    """Calls a command and returns its output."""
    done = run(*arguments, **variables)
    assert done.returncode == 0, done.stderr
    return done.stdout


def fails(*arguments: str | Path, status: int = 1, **variables: str) -> str:
    """Calls a command that must fail, and returns what it says."""
    done = run(*arguments, **variables)
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("certs") / "new"
    succeeds("certs", made, "--host", "server.example", "--host", "192.0.2.1", "--client", "robot")
    return made


@pytest.fixture(scope="module")
def token(directory: Path) -> str:
    """A token, whose line is in the file."""
    printed = succeeds("token", "alice", "--scope", "play", "--scope", "observe")
    shown, line = printed.splitlines()
    (directory / "tokens").write_text(line)
    return shown


@pytest.fixture(scope="module")
def protected(directory: Path, token: str) -> Iterator[str]:
    """Target of a server on all addresses, protected by the commands' certificates and tokens."""
    names = {
        "--tls-cert": "server.pem",
        "--tls-key": "server-key.pem",
        "--tls-client-ca": "ca.pem",
        "--tokens": "tokens",
    }
    options = [word for name, file in names.items() for word in (name, str(directory / file))]
    with start("serve", "CartPole-v1", "--host", "0.0.0.0", "--port", "0", *options) as process:
        assert process.stdout
        ready, _, address = process.stdout.readline().partition(" ")
        assert ready == "ready:"
        yield f"localhost:{address.rpartition(':')[2].strip()}"
        process.terminate()


@pytest.fixture
def variables(directory: Path, token: str) -> dict[str, str]:
    files = {"CA": "ca.pem", "CERT": "client.pem", "KEY": "client-key.pem"}
    paths = {f"ENVWIRE_{name}": str(directory / file) for name, file in files.items()}
    return paths | {"ENVWIRE_TOKEN": token}


def test_keys_are_their_owners(directory: Path) -> None:
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in directory.glob("*.pem")}
    assert {name for name, mode in modes.items() if mode == 0o600} == {
        "ca-key.pem",
        "server-key.pem",
        "client-key.pem",
    }
    assert len(modes) == 6


def test_a_ca_is_not_overwritten(directory: Path) -> None:
    before = (directory / "ca.pem").read_bytes()
    assert "holds a CA already" in fails("certs", directory)
    assert (directory / "ca.pem").read_bytes() == before


def test_a_ca_issues_for_further_servers(directory: Path, tmp_path: Path) -> None:
    from cryptography import x509

    made = tmp_path / "node"
    succeeds("certs", made, "--ca", directory, "--host", "node.example")
    assert {path.name for path in made.iterdir()} == {
        "ca.pem",
        "server.pem",
        "server-key.pem",
        "client.pem",
        "client-key.pem",
    }
    assert (made / "ca.pem").read_bytes() == (directory / "ca.pem").read_bytes()
    ca, server = (
        x509.load_pem_x509_certificate((made / f"{name}.pem").read_bytes())
        for name in ("ca", "server")
    )
    server.verify_directly_issued_by(ca)
    assert "holds no CA" in fails("certs", tmp_path / "more", "--ca", made)
    assert not (tmp_path / "more").exists()


def test_certificates_say_what_they_are_for(directory: Path) -> None:
    from cryptography import x509

    read = {
        name: x509.load_pem_x509_certificate((directory / f"{name}.pem").read_bytes())
        for name in ("ca", "server", "client")
    }
    names = read["server"].extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost", "server.example"]
    assert list(map(str, names.get_values_for_type(x509.IPAddress))) == [
        "127.0.0.1",
        "::1",
        "192.0.2.1",
    ]
    assert read["client"].subject.rfc4514_string() == "CN=robot"
    for name, certificate in read.items():
        limits = certificate.extensions.get_extension_for_class(x509.BasicConstraints).value
        assert limits.ca is (name == "ca")
        certificate.verify_directly_issued_by(read["ca"])


def test_a_token_is_shown_once(directory: Path, token: str) -> None:
    assert re.fullmatch(r"envwire_[\w-]{43}", token)
    line = (directory / "tokens").read_text()
    assert token not in line
    [read] = read_tokens(line)
    assert (read.name, read.scopes) == ("alice", frozenset({Scope.PLAY, Scope.OBSERVE}))


def test_a_name_that_the_file_cannot_hold() -> None:
    assert "cannot be the name of a token" in fails("token", "two words", status=2)


@pytest.mark.parametrize(
    ("command", "shows"),
    [
        (["health"], "SERVING"),
        (["list"], "CartPole-v1"),
        (["run", "CartPole-v1", "--episodes", "1"], "mean return"),
    ],
    ids=["health", "list", "run"],
)
def test_commands_at_a_protected_server(
    protected: str, variables: dict[str, str], command: list[str], shows: str
) -> None:
    name, *rest = command
    assert shows in succeeds(name, protected, *rest, **variables)
    printed = fails(name, protected, *rest)
    if name != "health":
        assert "ENVWIRE_CA" in printed
        variables["ENVWIRE_TOKEN"] = ""
        assert "ENVWIRE_TOKEN" in fails(name, protected, *rest, **variables)


def test_a_public_server_needs_protection() -> None:
    printed = fails("serve", "CartPole-v1", "--host", "0.0.0.0", status=2)
    for name in ("--tls-cert", "--tokens", "--tls-client-ca", "--insecure"):
        assert name in printed
