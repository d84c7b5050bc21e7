"""An environment whose module computes with torch when it is imported is served like any other.

`make test-agents` installs what this needs; elsewhere it is skipped.
"""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest

from envwire.client import RemoteEnv, StepTimeoutError
from envwire.server import Server
from tests.conftest import ROOT

pytest.importorskip("torch", reason="make test-agents installs it")

pytestmark = pytest.mark.timeout(170)
ENV, SIZE = "torch/Product-v0", 1024


def torch_server(**settings: Any) -> Server:
    return Server([ENV], imports=["tests.agents.torch_envs"], sys_path=(ROOT,), **settings)


def test_torch_computes_in_a_session() -> None:
    with torch_server(step_timeout=30.0) as server, closing(RemoteEnv(server.target, ENV)) as env:
        assert env.reset(seed=1)[0] == SIZE
        assert [env.step(0)[0] for _ in range(3)] == [SIZE] * 3


def test_a_fork_without_torchs_threads_hangs() -> None:
    """The reason for new interpreters: when forks compute as well, they are no longer needed for torch."""
    with (
        torch_server(start="fork", step_timeout=5.0) as server,
        closing(RemoteEnv(server.target, ENV)) as env,
        pytest.raises(StepTimeoutError),
    ):
        env.reset(seed=1)
