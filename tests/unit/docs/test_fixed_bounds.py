"""docs/settings.md has the bounds that no setting changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from envwire.farm.gateway.hellos import (
    MAX_CHARACTERS,
    MAX_ENVIRONMENTS,
    MAX_KEPT_BYTES,
    MAX_LISTED,
    MAX_MESSAGE_BYTES,
    MAX_SERVERS,
)
from envwire.server._auth.reloading import SETTLE_SECONDS
from envwire.server._front.grpc.services import MAX_WATCHING
from envwire.server._front.makes.request_size import MAX_KWARGS, MAX_NAME_CHARACTERS, MAX_WRAPPERS
from envwire.server._front.sessions.backlog import MAX_PENDING
from envwire.server._processes.process import GRACE_SECONDS
from envwire.server._session.snapshots import MAX_BYTES, MAX_STATES

_PAGE = (Path(__file__).parents[3] / "docs" / "settings.md").read_text(encoding="utf-8")
_ROWS = dict(
    [cell.strip() for cell in line.split("|")[1:3]]
    for line in _PAGE.partition("## Bounds that no setting changes")[2].splitlines()
    if line.startswith("| ")
)


@pytest.mark.parametrize(
    ("begins", "bound"),
    [
        ("characters of an id", f"{MAX_NAME_CHARACTERS}"),
        ("wrappers in a Make", f"{MAX_WRAPPERS}"),
        ("keyword arguments", f"{MAX_KWARGS}"),
        ("requests that wait", f"{MAX_PENDING}"),
        ("strangers that watch", f"{MAX_WATCHING}"),
        ("bytes of a message of a server", f"{MAX_MESSAGE_BYTES}, {MAX_KEPT_BYTES}"),
        ("servers of a farm", f"{MAX_SERVERS}, {MAX_ENVIRONMENTS}, {MAX_LISTED}"),
        ("characters of a text that a server", f"{MAX_CHARACTERS}"),
        ("states that one", f"{MAX_STATES}, in {MAX_BYTES} bytes"),
        ("seconds until a token", f"{SETTLE_SECONDS:g}"),
        ("seconds until what", f"{GRACE_SECONDS:g}"),
    ],
)
def test_the_page_has_what_the_code_has(begins: str, bound: str) -> None:
    (row,) = (row for row in _ROWS if row.startswith(begins))
    assert _ROWS[row] == bound
