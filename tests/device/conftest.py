"""The server that tests of arrays on a device share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from envwire.server import Server
from tests.conftest import ROOT

SETTINGS: dict[str, Any] = {
    "imports": ["tests.device.hosted"],
    "sys_path": (ROOT,),
    "max_sessions": 16,
}
ID = "device/Drift-v0"


@pytest.fixture(scope="package")
def target() -> Iterator[str]:
    """The address of a server."""
    with Server(["device/*"], step_timeout=30.0, **SETTINGS) as server:
        yield server.target
