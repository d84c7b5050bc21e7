"""Ownership of sessions by clients."""

from __future__ import annotations

import pytest

from envwire.server._auth.client import Client


@pytest.mark.parametrize(
    ("owner", "owned"),
    [
        ("token alice", True),
        ("farm's token alice", True),
        ("token bob", False),
        ("farm's token bob", False),
        ("farm's farm's token alice", False),
        ("token alice2", False),
        ("", False),
    ],
)
def test_a_client_owns_what_it_made_here_and_through_the_farm(owner: str, owned: bool) -> None:
    assert Client("token alice").owns(owner) is owned
