"""Environments of older APIs are hosted through an explicit conversion, and refused without one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import envwire.envs
from envwire.client import RemoteEnv
from envwire.server import Server
from envwire.testing.comparing import identical
from tests.guests.legacy_envs import FiveTuple, FourTuple

pytestmark = pytest.mark.filterwarnings("default")

ROOT = str(Path(__file__).parent.parent.parent)


@pytest.fixture(scope="module")
def legacy() -> Iterator[Server]:
    with Server(["legacy/*"], imports=["tests.guests.legacy_envs"], sys_path=(ROOT,)) as running:
        yield running


def _drive(env: Any, actions: list[int]) -> list[Any]:
    return [env.reset(seed=3), *(env.step(action) for action in actions)]


@pytest.mark.parametrize(
    ("actions", "ends"),
    [([2, 2, 2], (True, False)), ([0, 0, 0, 0], (False, True)), ([1], (False, False))],
    ids=["it fell", "time is up", "it goes on"],
)
def test_four_tuples_are_converted(legacy: Server, actions: list[int], ends: Any) -> None:
    env, old = RemoteEnv(legacy.target, "legacy/Converted-v0"), FourTuple()
    old.seed(3)
    start = old.reset()
    theirs = [old.step(action) for action in actions]
    mine = _drive(env, actions)
    assert identical(mine[0], (start, {}))
    for new, before in zip(mine[1:], theirs, strict=True):
        assert identical(new[:2], before[:2])
        assert (new[2] or new[3]) == before[2]
    assert mine[-1][2:] == (*ends, {})
    env.close()


def test_its_arguments_and_its_rendering(legacy: Server) -> None:
    env = RemoteEnv(legacy.target, "legacy/Converted-v0", render_mode="ansi", patience=1)
    env.reset(seed=0)
    assert env.step(0)[3], "patience is an argument of the old environment"
    assert env.render().startswith("ansi: 0.")
    env.close()


def test_an_unconverted_one_is_refused_as_it_is_locally(legacy: Server) -> None:
    outcomes = []
    for env in (
        envwire.envs.make("legacy/Unconverted-v0"),
        RemoteEnv(legacy.target, "legacy/Unconverted-v0"),
    ):
        env.reset(seed=0)
        with pytest.raises(Exception, match="unpack") as raised:
            env.step(0)
        outcomes.append((type(raised.value), str(raised.value)))
        env.close()
    assert outcomes[0] == outcomes[1]


def test_five_tuples_need_only_a_class(legacy: Server) -> None:
    env, old = RemoteEnv(legacy.target, "legacy/Adopted-v0"), FiveTuple()
    assert identical(_drive(env, [0, 1, 2]), _drive(old, [0, 1, 2]))
    assert np.array_equal(env.reset(seed=3)[0], old.reset(seed=3)[0])
    env.close()
