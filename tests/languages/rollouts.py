"""What libraries in other languages are compared on: rollouts here, and connections that are cut under one there."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import envwire.envs as gym
import tests.languages.hosted_shapes  # noqa: F401 - registers the environments
from tests.conftest import ROOT
from tests.faults.wire import Wire
from tests.languages.values import value_hex

STEPS = 500
SEED = 11
SETTINGS: dict[str, Any] = {"imports": ["tests.languages.hosted_shapes"], "sys_path": (ROOT,)}
IDS = ["CartPole-v1", "tests/Parts-v0", "tests/Picture-v0"]


class Case(NamedTuple):
    """A case: an environment, its arguments, and the size of the vector (0 for a single environment)."""

    env_id: str
    kwargs: dict[str, Any] = {}
    num_envs: int = 0


CASES = {
    "cartpole": Case("CartPole-v1"),
    "dict": Case("tests/Parts-v0"),
    "tuple": Case("tests/Parts-v0", {"as_tuple": True}),
    "image": Case("tests/Picture-v0"),
    "vector of 8": Case("CartPole-v1", {}, 8),
}


def expected(case: Case, steps: int = STEPS) -> tuple[list[str], list[list[str]]]:
    """Returns actions, and what each of them leads to here; the first entry is the reset."""
    local: Any = (
        gym.make_vec(case.env_id, num_envs=case.num_envs, vectorization_mode="sync", **case.kwargs)
        if case.num_envs
        else gym.make(case.env_id, **case.kwargs)
    )
    local.action_space.seed(SEED)
    actions, outcomes = [], [[value_hex(each) for each in local.reset(seed=SEED)]]
    for _ in range(steps):
        action = local.action_space.sample()
        actions.append(value_hex(action))
        step = local.step(action)
        outcomes.append([value_hex(each) for each in step])
        if not case.num_envs and (step[2] or step[3]):
            outcomes.append([value_hex(each) for each in local.reset()])
    local.close()
    return actions, outcomes


@contextmanager
def cuts(wire: Wire) -> Iterator[Callable[[], None]]:
    """Cuts a connection of the wire now and then, from when the function that it gives is called."""
    over = threading.Event()
    pauses = random.Random(SEED)

    def cut() -> None:
        while not over.wait(pauses.uniform(0.01, 0.06)):
            wire.cut_one()

    cutter = threading.Thread(target=cut)
    try:
        yield cutter.start
    finally:
        over.set()
        if cutter.ident is not None:  # else it was not started
            cutter.join()
