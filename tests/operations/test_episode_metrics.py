"""Metrics of episodes, recoveries and bytes, on real servers: each episode counts once, also when it is recovered."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from envwire.client import RemoteEnv, RemoteVectorEnv
from envwire.observe.v1 import observe_pb2
from tests.operations.test_http_port import Served, last_process, serving
from tests.operations.watching import next_round, watching

ENV = "CartPole-v1"
RETURN, LENGTH = "envwire_episode_return", "envwire_episode_length"


@pytest.fixture
def counted() -> Iterator[Served]:
    """A server that has counted nothing yet."""
    with serving() as served:
        yield served


def play(env: Any, episodes: int, kill_at: int = -1, kill: Any = None) -> tuple[float, int]:
    """Plays episodes; returns the sum of their returns and of their steps."""
    total, steps = 0.0, 0
    for _ in range(episodes):
        over = False
        env.reset(seed=steps)
        while not over:
            if steps == kill_at:
                kill()
            _, reward, terminated, truncated, _ = env.step(1)
            total, steps, over = total + reward, steps + 1, terminated or truncated
    return total, steps


def test_episodes_that_end_are_counted(counted: Served) -> None:
    before = Counter(counted.port.metrics())
    for transport in ("direct", "stream", "unary"):
        env = RemoteEnv(counted.target, ENV, transport=transport)
        total, steps = play(env, 3)
        env.reset()
        env.step(0)
        env.close()
        after = Counter(counted.port.soon(lambda found: not found["envwire_slots_used"]))
        found = {name: after[name] - before[name] for name in after}
        before = after
        assert found[f"{RETURN}_count {ENV}"] == found[f"{LENGTH}_count {ENV}"] == 3, transport
        assert found[f"{RETURN}_sum {ENV}"] == total
        assert found[f"{LENGTH}_sum {ENV}"] == steps
        direct = transport == "direct"
        assert (found["envwire_direct_bytes_total sent"] > steps * 20) == direct
        assert (found["envwire_direct_bytes_total received"] > steps * 5) == direct
        assert found["envwire_relay_seconds_total"] > 0


def test_members_of_a_vector_environment_count_each(counted: Served) -> None:
    port = counted.port
    env = RemoteVectorEnv(counted.target, ENV, 4, sessions=1)
    env.reset(seed=1)
    ended = 0
    for _ in range(60):
        _, _, terminated, truncated, _ = env.step(np.ones(4, np.int64))
        ended += int((terminated | truncated).sum())
    assert ended >= 12
    found = port.soon(lambda found: found.get(f"{RETURN}_count {ENV}", 0) == ended)
    assert found[f"{RETURN}_sum {ENV}"] == found[f"{LENGTH}_sum {ENV}"]
    env.close()


def test_an_episode_that_is_recovered_counts_once_and_whole(counted: Served) -> None:
    port, target = counted
    env = RemoteEnv(target, ENV, on_lost="replay")
    total, steps = play(
        env, 4, kill_at=23, kill=lambda: os.kill(last_process(target), signal.SIGKILL)
    )
    assert env.connection_stats.recovered == 1
    found = port.soon(lambda found: found.get(f"{RETURN}_count {ENV}", 0) == 4)
    assert (found[f"{RETURN}_sum {ENV}"], found[f"{LENGTH}_sum {ENV}"]) == (total, steps)
    assert found["envwire_recoveries_total SESSION_LOST"] == 1
    assert found["envwire_requests_replayed_total"] >= 1
    with watching(target, "Watch", observe_pb2.WatchRequest()) as answers:
        (session,) = next_round(answers).sessions
    assert (session.epoch, session.loss) == (1, "SESSION_LOST")
    assert session.replayed == found["envwire_requests_replayed_total"]
    request = observe_pb2.DescribeSessionRequest(session_id=session.session_id)
    with watching(target, "DescribeSession", request) as told:
        texts = [event.text for event in told.events]
        assert any("session 2 of its client, after SESSION_LOST" in text for text in texts)
        assert len(told.episodes) == session.episodes < 4
        assert all(each.total == each.length > 0 for each in told.episodes)
    env.close()
    with watching(target, "DescribeSession", request) as told:
        assert (told.last.steps, told.last.episodes) == (session.steps, session.episodes)
        assert len(told.episodes) == session.episodes


def test_the_time_of_makes_is_split(counted: Served) -> None:
    env = RemoteEnv(counted.target, ENV)
    found = counted.port.metrics()
    parts = {
        name.split()[1]: value
        for name, value in found.items()
        if name.startswith("envwire_make_part_seconds_total ")
    }
    assert set(parts) == {"queue", "process", "environment", "codec", "wire"}
    assert parts["environment"] > 0
    assert parts["codec"] > 0
    assert sum(parts.values()) <= found["envwire_make_seconds_sum"]
    env.close()
