"""The Python server that the suite checks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from envwire.server import Server

#: Of a server that lets every check be made: it loses patience soon, shares memory, and refuses what is large.
CHECKED: dict[str, Any] = {
    "step_timeout": 6.0,
    "shared_memory": 2**22,
    "max_message_bytes": 2**24,
}
#: The suite's environments, and one that several libraries have.
SERVED = ["Conformance/*", "CartPole-v1"]


@pytest.fixture(scope="package")
def checked() -> Iterator[Server]:
    """A server of the suite's environments."""
    with Server(SERVED, **CHECKED) as server:
        yield server
