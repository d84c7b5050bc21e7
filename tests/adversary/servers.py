"""Servers to attack. Each is a real process; an environment variable marks all its processes."""

from __future__ import annotations

import json
import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from envwire.server import Server
from tests.adversary.client import Attacker
from tests.adversary.ledger import MARK, memory_given_back, processes_of
from tests.adversary.tokens import AUDITOR, Tokens
from tests.conftest import ROOT

SETTINGS: dict[str, Any] = {
    "imports": ["tests.adversary.environments"],
    "sys_path": (ROOT,),
    "step_timeout": 20.0,
}
#: Settings of a server for everybody, with its lists.
PUBLIC: dict[str, Any] = {"host": "0.0.0.0", "insecure": True}


@dataclass(frozen=True)
class Target:
    """A server under attack.

    Attributes:
        address: HOST:PORT.
        pid: Of the front.
        directory: Where its environments leave traces; the mark of its processes.
        token: A token for observing the server; None if no token is needed.
        ca: The authority of its certificate; None without TLS.
    """

    address: str
    pid: int
    directory: str
    token: str | None = None
    ca: bytes | None = None

    def attacker(self, **settings: Any) -> Attacker:
        """Returns a client with a connection of its own."""
        return Attacker(self.address, ca=self.ca, **settings)

    def processes(self) -> set[int]:
        """Returns its living processes, the front included."""
        return processes_of(self.pid, self.directory)

    def traces(self, name: str = "made") -> list[Any]:
        """Returns what its environments wrote down."""
        path = Path(self.directory, name)
        return list(map(json.loads, path.read_text().splitlines())) if path.exists() else []

    def forget_traces(self) -> None:
        """Removes the files that they wrote so far."""
        for path in Path(self.directory).iterdir():
            path.unlink()


@contextmanager
def attacked(
    *environments: str,
    variables: dict[str, str] | None = None,
    tokens: Tokens | None = None,
    ca: bytes | None = None,
    **settings: Any,
) -> Iterator[Target]:
    """Runs a server of malicious environments, and checks at the end that its front released its resources.

    Remaining processes are then killed.

    Args:
        environments: Their ids.
        variables: Further environment variables of the server.
        tokens: The accepted tokens, including the visitor "auditor"; None to accept all clients.
        ca: The authority of the server's certificate; None without TLS.
        settings: Of the server.
    """
    if tokens is not None:
        settings["tokens"] = tokens.path
    with tempfile.TemporaryDirectory(prefix="adversary-") as directory:
        server = Server(environments, **{**SETTINGS, **settings})
        with pytest.MonkeyPatch.context() as patch:
            for name, value in {MARK: directory, **(variables or {})}.items():
                patch.setenv(name, value)
            server.start()
        token = None if tokens is None else tokens[AUDITOR]
        target = Target(server.target, server.pid, directory, token, ca)
        try:
            with memory_given_back(server.pid):
                yield target
        finally:
            server.stop()
            for pid in target.processes():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
