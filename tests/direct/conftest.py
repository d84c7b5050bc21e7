"""The server that most tests of the direct channel share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from envwire.server import Server
from tests.conftest import ROOT

SETTINGS: dict[str, Any] = {
    "imports": ["tests.hosted_envs", "tests.direct.hosted_frames"],
    "sys_path": (ROOT,),
    "max_sessions": 16,
}


@pytest.fixture(scope="package")
def direct() -> Iterator[Server]:
    """A server that shares memory."""
    with Server(
        ["direct/*", "tests/*"], step_timeout=20.0, shared_memory=2**22, **SETTINGS
    ) as server:
        yield server
