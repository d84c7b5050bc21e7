"""The token with which the servers of a farm on this machine join it."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import NamedTuple

from envwire.server._auth.scopes import Scope, ServerPatterns
from envwire.server._auth.tokens import new_token

_HERE = ServerPatterns(addresses=("127.0.0.1:*",))


class JoinToken(NamedTuple):
    """A token of scope join, for servers of this machine.

    Attributes:
        token: The token; empty for a farm without tokens.
        line: Its line of a token file.
        path: The file with the token, which containers mount; empty if it is not kept.
    """

    token: str = ""
    line: str = ""
    path: str = ""


def new_join_token() -> JoinToken:
    """Returns a token for servers that end with the farm."""
    return JoinToken(*new_token("envwire-farm-up", [Scope.JOIN], _HERE))


def kept_join_token(farm: str) -> JoinToken:
    """Returns the token of a farm whose servers outlive it: that of its earlier run, or a new one.

    Args:
        farm: Name of the farm.

    Raises:
        OSError: The files cannot be read or written.
    """
    state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    folder = Path(state, "envwire", farm)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(
        0o700
    )  # only this user reaches the files, which a container's user must be able to read
    path, lines = folder / "join-token", folder / "join-line"
    if not (path.exists() and lines.exists()):
        made = new_join_token()
        for file, text in ((lines, made.line), (path, made.token)):
            with open(file, "w", opener=partial(os.open, mode=0o644), encoding="utf-8") as opened:
                opened.write(text)
    return JoinToken(path.read_text("utf-8"), lines.read_text("utf-8"), str(path))
