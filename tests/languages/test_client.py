"""Clients in other languages beside the environments themselves: bit for bit, over every transport, with cuts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

from envwire.server import Server
from tests.faults.wire import Wire
from tests.languages.programs import LANGUAGES, running
from tests.languages.rollouts import CASES, IDS, SEED, SETTINGS, STEPS, Case, cuts, expected
from tests.languages.values import value_hex


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server(IDS, **SETTINGS) as started:
        yield started


class Seen(NamedTuple):
    """The results of a client."""

    outcomes: list[list[str]]
    resumed: int
    transport: str


def rollout(
    language: str,
    target: str,
    transport: str,
    case: Case,
    actions: list[str],
    chunk: int = 1,
    made: Callable[[], None] = lambda: None,
) -> Seen:
    """Has a client take the actions. `made` is called once it has the environment."""
    kwargs = value_hex(case.kwargs)
    lines = [target, transport, case.env_id, kwargs, case.num_envs, SEED, chunk, *actions, "", ""]
    with running(language, "rollout") as process:
        assert process.stdin is not None
        process.stdin.write("\n".join(map(str, lines)))
        process.stdin.close()
        assert process.stdout is not None
        assert process.stdout.readline() == "made\n"
        made()
        output = process.stdout.read()  # `communicate` loses what `readline` read ahead
    *outcomes, last = output.splitlines()
    _, resumed, name = last.split()
    return Seen([line.split() for line in outcomes], int(resumed), name)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("transport", ["unary", "stream", "direct", "direct-tcp"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_rollout_is_the_local_one_bit_for_bit(
    server: Server, language: str, case: Case, transport: str
) -> None:
    actions, outcomes = expected(case)
    seen = rollout(language, server.target, transport, case, actions)
    assert seen.transport == transport.removesuffix("-tcp")
    assert len(seen.outcomes) == len(outcomes)
    for index, (one, other) in enumerate(zip(seen.outcomes, outcomes, strict=True)):
        assert one == other, index


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("transport", ["unary", "direct"])
def test_chunks_of_actions_are_the_steps_one_by_one(
    server: Server, language: str, transport: str
) -> None:
    case = CASES["dict"]
    actions, outcomes = expected(case)
    assert rollout(language, server.target, transport, case, actions, chunk=32).outcomes == outcomes


@pytest.mark.long
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("transport", ["unary", "stream", "direct-tcp"])
def test_no_step_is_lost_or_doubled_while_connections_are_cut(
    language: str, transport: str
) -> None:
    case = CASES["dict"]
    actions, outcomes = expected(case, 2 * STEPS)
    with Wire(SEED) as wire, Server(IDS, **SETTINGS, **wire.settings), cuts(wire) as start:
        seen = rollout(language, wire.target, transport, case, actions, made=start)
    assert seen.outcomes == outcomes
    assert seen.resumed > 0
