"""A connection that breaks loses no step and takes none twice."""

from __future__ import annotations

import random
from types import SimpleNamespace

import pytest

from envwire.client import RemoteEnv
from envwire.server import InProcessTransport
from envwire.testing import Fault, FaultyTransport, identical, rollout

_STEPS = 60


def _rollout(faults: list[Fault]) -> tuple[list[object], FaultyTransport]:
    transport = FaultyTransport(InProcessTransport(["CartPole-v1"]), faults)
    env = RemoteEnv(None, "CartPole-v1", transport=transport)
    try:
        return rollout(env, _STEPS, seed=3), transport
    finally:
        env.close()


@pytest.mark.parametrize("seed", range(20))
def test_every_step_is_taken_once_whatever_breaks(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = SimpleNamespace(sleep=lambda _: None)
    monkeypatch.setattr("envwire.client._drivers.blocking.time", clock)
    drawn = random.Random(seed)
    faults = [Fault.NONE, *drawn.choices(list(Fault), weights=(6, 1, 1, 1), k=3 * _STEPS)]
    seen, transport = _rollout(faults)
    undisturbed, _ = _rollout([])
    assert identical(seen, undisturbed)
    assert set(transport.committed) == set(Fault) - {Fault.NONE}


def test_a_request_that_is_lost_reaches_no_server() -> None:
    transport = FaultyTransport(InProcessTransport(["CartPole-v1"]), [Fault.LOSE_REQUEST])
    with pytest.raises(ConnectionError, match="on purpose"):
        transport.exchange(b"", 1.0)
    assert transport.committed == [Fault.LOSE_REQUEST]
