"""The token file: names, scopes and digests of tokens; the tokens themselves are not stored.

Each line is a name, its scopes and the SHA-256 digest of the token, in hexadecimal digits:

    # name  scopes        digest
    alice   play          9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
    ops     observe,admin 60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752

A token of scope join may be limited to ids and addresses of servers (see `ServerPatterns`). The digest comes last, so
that a half-written line is never a token without its limits.

    gpu     join          servers=gpu-*:50051 addresses=10.0.1.*:50051,[fd00::1]:* 8f14e45fceea167a5a36dedd4bea2543...

In the file of a farm's gateway a token may also have a quota, the number of slots of the farm that its client may hold.

    bob     play          quota=64 2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae

A token is 256 random bits, so a plain digest protects it: guessing is hopeless, and no salt or slow hash is needed.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import re
import secrets
import time
from collections.abc import Callable, Iterable
from dataclasses import InitVar, dataclass, field, fields
from pathlib import Path

from envwire.server._auth.reloading import Reloaded
from envwire.server._auth.scopes import ANY_SERVER, Scope, ServerPatterns
from envwire.server._settings.checks import FilePath

_log = logging.getLogger("envwire.server")

_PREFIX = "envwire_"  # a prefix that secret scanners recognise
_NAME = re.compile(r"[\w.@-]+")
_NUMBER = re.compile(r"[0-9]{1,9}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_QUOTA = "quota"
_BOUNDS = tuple(each.name for each in fields(ServerPatterns))


@dataclass(frozen=True)
class Token:
    """One line of the file."""

    name: str
    scopes: frozenset[Scope]
    digest: str = field(repr=False)
    servers: ServerPatterns = ANY_SERVER
    quota: int | None = None


def new_token(
    name: str,
    scopes: Iterable[Scope],
    servers: ServerPatterns = ANY_SERVER,
    quota: int | None = None,
) -> tuple[str, str]:
    """Returns a new token, and the line for the file.

    Args:
        name: Name of its client.
        scopes: The permissions that it grants.
        servers: The servers that it may register.
        quota: How many slots of a farm its client may hold; None for the gateway's default.

    Raises:
        ValueError: The name or a pattern has blanks or other characters that the file cannot hold.
    """
    token = _PREFIX + secrets.token_urlsafe(32)
    bounds = (f"{key}={','.join(getattr(servers, key))}" for key in _BOUNDS)
    written = [bound for bound in bounds if not bound.endswith("=")]
    written += [] if quota is None else [f"{_QUOTA}={quota}"]
    line = " ".join([name, ",".join(scope.value for scope in scopes), *written, _digest(token)])
    if read_tokens(line)[0].servers != servers:
        raise ValueError("a pattern is empty, or has a comma or #")
    return token, line


def read_tokens(text: str) -> tuple[Token, ...]:
    """Parses the lines of a file.

    Raises:
        ValueError: A line is invalid, or a name occurs twice; the message gives the line's number but not its text.
    """
    tokens: dict[str, Token] = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        if words:
            token = _read_line(words, number)
            if token.name in tokens:
                raise ValueError(f"line {number}: {token.name} comes twice; give each token a name")
            tokens[token.name] = token
    return tuple(tokens.values())


def _read_line(words: list[str], number: int) -> Token:
    if len(words) < 3 or not _NAME.fullmatch(words[0]) or not _DIGEST.fullmatch(words[-1]):
        raise ValueError(
            f"line {number} is not a name, scopes and a digest of 64 hexadecimal digits; `envwire token NAME` prints "
            "such a line"
        )
    try:
        scopes = frozenset(Scope(word) for word in words[1].split(","))
    except ValueError:
        known = ", ".join(scope.value for scope in Scope)
        raise ValueError(f"line {number}: unknown scope; the scopes are {known}") from None
    patterns: dict[str, tuple[str, ...]] = {}
    quota = None
    for key, _, value in (word.partition("=") for word in words[2:-1]):
        if key == _QUOTA:
            quota = _read_quota(value, quota, number)
        elif key in _BOUNDS and all(value.split(",")):
            patterns[key] = tuple(value.split(","))
        else:
            raise ValueError(
                f"line {number}: between scopes and digest come only servers=PATTERN,..., addresses=PATTERN,... and "
                "quota=N"
            )
    try:
        servers = ServerPatterns(**patterns)
    except ValueError as error:
        raise ValueError(f"line {number}: {error}") from None
    return Token(words[0], scopes, words[-1], servers, quota)


def _read_quota(digits: str, former: int | None, number: int) -> int:
    if former is not None or not _NUMBER.fullmatch(digits) or not int(digits):
        raise ValueError(f"line {number}: {_QUOTA}=N is given once, and N is 1 or more")
    return int(digits)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


@dataclass(eq=False)
class TokenFile:
    """The current tokens of a file.

    Additions and changes take effect at once. Removals take effect once the file has not changed for a while: a program
    that writes in place empties the file first, and for that moment every token is missing.

    Args:
        path: The file.
        clock: Monotonic time, in seconds.
        known: Tokens in addition to those of the file.

    Raises:
        ValueError: The file is invalid.
        OSError: The file cannot be read.
    """

    _path: FilePath
    clock: InitVar[Callable[[], float]] = time.monotonic
    _more: tuple[Token, ...] = ()

    def __post_init__(self, clock: Callable[[], float]) -> None:
        self._reloaded = Reloaded([self._path], self._read, clock)
        self._listed: tuple[Token, ...] = self._reloaded.get()
        self._known = self._listed
        if len(self._known) == len(self._more):
            _log.warning(
                "%s has no token, so nobody can use this server; append the second line that `envwire token NAME` "
                "prints",
                self._path,
            )

    def _read(self) -> tuple[Token, ...]:
        try:
            return read_tokens(Path(self._path).read_text(encoding="utf-8")) + self._more
        except ValueError as error:
            raise ValueError(f"{self._path}: {error}") from error

    def tokens(self) -> tuple[Token, ...]:
        """Returns all tokens; the same object until they change."""
        listed = self._reloaded.get()
        if listed is not self._listed or (self._known is not listed and self._reloaded.settled):
            self._listed = listed
            self._known = listed if self._reloaded.settled else self._with_missing(listed)
        return self._known

    def _with_missing(self, listed: tuple[Token, ...]) -> tuple[Token, ...]:
        names = {token.name for token in listed}
        missing = tuple(token for token in self._known if token.name not in names)
        return listed + missing if missing else listed

    def find(self, presented: str) -> Token | None:
        """Returns the token that a client presented, comparing with every token in constant time."""
        digest = _digest(presented)
        matching = [token for token in self.tokens() if hmac.compare_digest(token.digest, digest)]
        return matching[0] if matching else None
