"""A chunk of actions is equal to the same number of steps, over every transport."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from envwire.client import RemoteEnv
from envwire.client._transports.by_name import open_transport
from envwire.client._transports.transport import call
from envwire.server import Server
from envwire.testing.comparing import identical
from envwire.v1 import environment_pb2 as pb
from tests.faces import REMOTE
from tests.hosted_envs import Fault
from tests.secured import Guard

FAULTY = "tests/Faulty-v0"
WAYS = {name: REMOTE[name] for name in ("in process", "unary", "stream", "direct over TCP")}


@pytest.fixture(params=WAYS)
def make(
    request: pytest.FixtureRequest, server: Server, entered: Guard
) -> Iterator[Callable[..., Any]]:
    made: list[Any] = []

    def start(env_id: str, **kwargs: Any) -> Any:
        made.append(WAYS[request.param](server.target, env_id, **kwargs))
        return made[-1]

    yield start
    for env in made:
        env.close()


def test_a_chunk_is_as_many_steps(make: Callable[..., Any]) -> None:
    one, many = make("CartPole-v1"), make("CartPole-v1")
    assert identical(one.reset(seed=3), many.reset(seed=3))
    actions = [0, 1, 1, np.int64(0), 1, 0]
    assert identical([one.step(action) for action in actions], many.step_many(actions))
    assert identical(one.step(0), many.step(0))
    assert many.step_many([]) == []


def test_a_chunk_ends_with_the_episode(make: Callable[..., Any]) -> None:
    env = make("CartPole-v1")
    env.reset(seed=3)
    results = env.step_many([1] * 50)
    assert 5 < len(results) < 20
    assert [result[2] for result in results] == [False] * (len(results) - 1) + [True]
    env.reset(seed=3)
    assert len(env.step_many([1] * 50)) == len(results)


def test_a_step_that_fails_ends_the_chunk_and_those_before_it_are_told(
    make: Callable[..., Any],
) -> None:
    env = make(FAULTY)
    env.reset()
    with pytest.raises(ValueError, match="the wheel fell off") as raised:
        env.step_many([0, 0, Fault.RAISE.value, 0])
    assert [result[4] for result in raised.value.steps_taken] == [{"steps": 1}, {"steps": 2}]  # type: ignore[attr-defined]
    assert env.step(0)[4] == {"steps": 3}
    with pytest.raises(ValueError, match="the wheel fell off") as raised:
        env.step_many([Fault.RAISE.value, 0])
    assert raised.value.steps_taken == []  # type: ignore[attr-defined]


def test_a_value_without_a_wire_form_is_refused_before_anything_is_done(
    make: Callable[..., Any],
) -> None:
    env = make(FAULTY)
    env.reset()
    with pytest.raises(ValueError, match=r"actions\[1\]"):
        env.step_many([0, object()])
    assert env.step(0)[4] == {"steps": 1}


def test_a_long_chunk_goes_in_parts(make: Callable[..., Any]) -> None:
    env = make(FAULTY)
    env.reset()
    results = env.step_many([0] * 1100)
    assert [result[4]["steps"] for result in results] == list(range(1, 1101))


def test_warnings_are_given(make: Callable[..., Any]) -> None:
    env = make(FAULTY)
    env.reset()
    with pytest.warns(UserWarning, match="the wheel is loose"):
        env.step_many([0, Fault.WARN.value, 0])


def test_a_shared_generator_is_shared_in_each_step(make: Callable[..., Any]) -> None:
    one, many = make("tests/Wavering-v0"), make("tests/Wavering-v0")
    for env in (one, many):
        env.reset(seed=5)
        env.np_random.random()
    apart = [one.step(0)[0] for _ in range(4)]
    assert identical(apart, [result[0] for result in many.step_many([0] * 4)])
    assert one.np_random.random() == many.np_random.random()


def test_a_replayed_chunk_goes_the_same_way(server: Server, entered: Guard) -> None:
    env = RemoteEnv(server.target, FAULTY, anonymous=True, on_lost="replay")
    env.reset(seed=1)
    env.step_many([0] * 70)
    with pytest.raises(ValueError, match="the wheel fell off"):
        env.step_many([0, Fault.RAISE.value])
    assert env._handle.driver is not None
    request = pb.InteractRequest(close=pb.CloseRequest(sequence=1))
    request.close.header.CopyFrom(env._handle.driver.session.identity)
    other = open_transport("unary", server.target, 10.0)
    call(other, request, 10.0)  # the session ends behind the client's back
    other.close()
    assert env.step_many([0, 0])[1][4] == {"steps": 73}
    assert env.connection_stats.recovered == 1
    env.close()
