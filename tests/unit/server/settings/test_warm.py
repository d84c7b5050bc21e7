"""The setting of environments that are made ahead: its form and its bounds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from envwire.server.config import ServerConfig


@pytest.mark.parametrize(
    "text", ["A-v0", "A-v0=0", "A-v0=x", "A-v0{=1", "A-v0{1}=1", "=1", "A v0=1"]
)
def test_environments_to_make_ahead_have_a_form(text: str) -> None:
    with pytest.raises(ValueError, match=r"must be ID=NUMBER or ID.JSON of"):
        ServerConfig(("A-v0",), warm=(text,))


def test_environments_to_make_ahead_have_bounds() -> None:
    items = ('A-v0{"x": [1, {"y": 2}]}=2', "ns/A-v0=1")
    assert replace(ServerConfig(("A-v0",), warm=items), max_sessions=3).warm == items
    with pytest.raises(ValueError, match=r"asks for 3 environments, and max_sessions .* is 2"):
        ServerConfig(("A-v0",), warm=items, max_sessions=2)
    with pytest.raises(ValueError, match="--warm does not go with --record"):
        ServerConfig(("A-v0",), warm=items, record="somewhere")
