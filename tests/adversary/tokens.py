"""A file of tokens as docs/security.md describes it: a name, scopes, and the SHA-256 digest of the token."""

from __future__ import annotations

import hashlib
import os
import secrets
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Self

#: Who looks at a server, and is never attacked with.
AUDITOR = "auditor"


class Tokens:
    """A token for each of some names, and the file that lets them in.

    Args:
        names: Of the clients.
        scopes: What each of them may do.
    """

    def __init__(self, *names: str, scopes: str = "play") -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="tokens-")
        self.path = Path(self._directory.name, "tokens")
        self._tokens = {name: "envwire_" + secrets.token_urlsafe(32) for name in (AUDITOR, *names)}
        self._scopes = {AUDITOR: "observe"} | dict.fromkeys(names, scopes)
        self.replace()

    def __getitem__(self, name: str) -> str:
        """Returns the token of a client."""
        return self._tokens[name]

    def text(self) -> str:
        """Returns what belongs into the file."""
        lines = (
            f"{name} {scopes} {hashlib.sha256(self._tokens[name].encode()).hexdigest()}\n"
            for name, scopes in self._scopes.items()
        )
        return "".join(lines)

    def replace(self) -> None:
        """Puts a new file in the place of the old one."""
        beside = self.path.with_suffix(".new")
        beside.write_text(self.text())
        os.replace(beside, self.path)

    def strike_off(self, name: str) -> None:
        """Takes a client's line away."""
        del self._scopes[name]
        self.replace()

    def allow(self, name: str, scopes: str) -> None:
        """Gives a client other scopes."""
        self._scopes[name] = scopes
        self.replace()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._directory.cleanup()
