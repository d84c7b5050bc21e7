"""The TypeScript client beside the environments themselves: bit for bit, over every transport, with connections cut."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from envwire.server import Server
from tests.faults.wire import Wire
from tests.languages.rollouts import CASES, IDS, SEED, SETTINGS, STEPS, Case, cuts, expected
from tests.languages.typescript import running
from tests.languages.values import value_hex


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
        assert process.stdin is not None
        process.stdin.close()
        assert process.stdout is not None
        assert process.stdout.readline() == "made\n"
        made()
        output = process.stdout.read()  # `communicate` loses what `readline` read ahead
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
    with Wire(SEED) as wire, Server(IDS, **SETTINGS, **wire.settings), cuts(wire) as start:
        seen = rollout(wire.target, transport, case, actions, made=start)
    assert seen["outcomes"] == outcomes
    assert seen["resumed"] > 0
