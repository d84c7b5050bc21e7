"""The TypeScript client beside the environments themselves: bit for bit, over every transport, with connections cut."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

import envwire.envs as gym
import tests.languages.hosted_shapes  # noqa: F401 - registers the environments
from envwire.server import Server
from tests.conftest import ROOT
from tests.faults.wire import Wire
from tests.languages.typescript import running, value_hex

STEPS = 500
SEED = 11
SETTINGS: dict[str, Any] = {"imports": ["tests.languages.hosted_shapes"], "sys_path": (ROOT,)}
IDS = ["CartPole-v1", "tests/Parts-v0", "tests/Picture-v0"]


class Case(NamedTuple):
    """What is compared: an environment, its arguments, and how many step together (0 for a single one)."""

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


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server(IDS, **SETTINGS) as started:
        yield started


def rollout(
    target: str,
    transport: str,
    case: Case,
    actions: list[str],
    chunk: int = 1,
    made: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """Has the TypeScript client take the actions; returns what it saw. `made` is called once it has the environment."""
    request = {
        "target": target,
        "transport": transport,
        "id": case.env_id,
        "kwargs": value_hex(case.kwargs),
        "numEnvs": case.num_envs,
        "seed": SEED,
        "actions": actions,
        "chunk": chunk,
    }
    with running("rollout") as process:
        print(json.dumps(request), file=process.stdin, flush=True)
        assert process.stdout is not None
        assert process.stdout.readline() == "made\n"
        made()
        output, _ = process.communicate(timeout=240)
    answer: dict[str, Any] = json.loads(output)
    return answer


@pytest.mark.parametrize("transport", ["unary", "stream", "direct"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_rollout_is_the_local_one_bit_for_bit(server: Server, case: Case, transport: str) -> None:
    actions, outcomes = expected(case)
    seen = rollout(server.target, transport, case, actions)
    assert seen["transport"] == transport
    assert len(seen["outcomes"]) == len(outcomes)
    for index, (one, other) in enumerate(zip(seen["outcomes"], outcomes, strict=True)):
        assert one == other, index


@pytest.mark.parametrize("transport", ["unary", "direct"])
def test_chunks_of_actions_are_the_steps_one_by_one(server: Server, transport: str) -> None:
    case = CASES["dict"]
    actions, outcomes = expected(case)
    assert rollout(server.target, transport, case, actions, chunk=32)["outcomes"] == outcomes


@pytest.mark.long
@pytest.mark.parametrize("transport", ["unary", "stream", "direct-tcp"])
def test_no_step_is_lost_or_doubled_while_connections_are_cut(transport: str) -> None:
    case = CASES["dict"]
    actions, outcomes = expected(case, 2 * STEPS)
    over = threading.Event()
    pauses = random.Random(SEED)
    with Wire(SEED) as wire, Server(IDS, **SETTINGS, **wire.settings):

        def cut() -> None:
            while not over.wait(pauses.uniform(0.01, 0.06)):
                wire.cut_one()

        cutter = threading.Thread(target=cut)
        try:
            seen = rollout(wire.target, transport, case, actions, made=cutter.start)
        finally:
            over.set()
            cutter.join()
    assert seen["outcomes"] == outcomes
    assert seen["resumed"] > 0
