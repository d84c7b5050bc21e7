"""Environments made ahead: which Makes get one, that results are equal, their number, and their replacement."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest
from typing_extensions import Self

from envwire.client import RemoteEnv, SessionLostError
from envwire.client._transports.by_name import open_transport
from envwire.client._transports.transport import call
from envwire.codec import encode_mapping
from envwire.server import Server, ServerError
from envwire.v1 import environment_pb2 as pb
from tests.conftest import ROOT
from tests.faults.scene import active, eventually, family_of, parent_of
from tests.groups.of_made import MADE, RAISING
from tests.operations.test_http_port import Port

SETTINGS: dict[str, Any] = {"imports": ["tests.groups.of_made"], "sys_path": (ROOT,)}
WIDE = f'{MADE}{{"width":3}}'
SECONDS = 60.0
pytestmark = pytest.mark.filterwarnings("ignore:. wide")


class Pool:
    """A server with a pool, and the pool's metrics."""

    def __init__(self, *warm: str, **settings: Any) -> None:
        self._port = Port()
        given = {**SETTINGS, "warm": warm, "http_port": self._port.number, **settings}
        self.server = Server([MADE, RAISING, "CartPole-v1"], **given)

    def __enter__(self) -> Self:
        self.server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.stop()

    @property
    def ready(self) -> int:
        """How many environments are made and have no client."""
        found = self._port.metrics().items()
        return int(sum(value for name, value in found if name.startswith("envwire_warm")))

    def has(self, number: int) -> bool:
        """Waits until a number of environments are ready."""
        return eventually(lambda: self.ready == number)

    def make(self, env_id: str = MADE, **settings: Any) -> tuple[RemoteEnv, bool, int]:
        """Makes an environment; returns it, whether it was there before, and its process."""
        before = time.monotonic()
        env = RemoteEnv(self.server.target, env_id, **settings)
        info = env.reset()[1]
        return env, info["made_at"] < before, info["pid"]


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(f"{MADE}=2", f"{WIDE}=1", "CartPole-v1=1") as running:
        yield running


def test_a_make_takes_one_that_is_there_and_the_next_one_is_made(pool: Pool) -> None:
    pids = set()
    for _ in range(3):
        assert pool.has(4)
        env, warm, pid = pool.make()
        assert warm
        pids.add(pid)
        env.close()
    assert len(pids) == 3


@pytest.mark.parametrize(
    ("settings", "warm"),
    [
        ({}, True),
        ({"width": 3}, True),
        ({"lease": 30.0}, True),
        ({"transport": "unary"}, True),
        ({"library": "envwire"}, True),
        ({"width": 2}, False),
        ({"width": 1}, False),
        ({"render_mode": "rgb_array"}, False),
        ({"wrappers": [("TimeLimit", {"max_episode_steps": 9})]}, False),
    ],
)
def test_only_what_the_operator_wrote_is_there(
    settings: dict[str, Any], warm: bool, pool: Pool
) -> None:
    assert pool.has(4)
    env, was_there, _ = pool.make(**settings)
    assert was_there is warm
    assert env.observation_space.shape == (settings.get("width", 1),)
    env.close()


def made(target: str, **kwargs: Any) -> pb.MakeResponse:
    """Returns the answer to a Make without the session's own fields; the session has no client afterwards."""
    request = pb.InteractRequest(make=pb.MakeRequest(env_id=MADE))
    encode_mapping(kwargs, request.make.kwargs)
    transport = open_transport("unary", target, SECONDS)
    try:
        answer = call(transport, request, SECONDS).make
    finally:
        transport.close()
    assert answer.session_id
    for name in ("session_id", "secret", "incarnation", "direct"):
        answer.ClearField(name)
    return answer


def test_its_answer_is_that_of_one_made_at_once(pool: Pool) -> None:
    with Server([MADE], **SETTINGS) as cold:
        for kwargs in ({}, {"width": 3}):
            assert pool.has(4)
            answer = made(pool.server.target, **kwargs)
            assert answer == made(cold.target, **kwargs)
            assert len(answer.warnings) == 1


@pytest.mark.parametrize("env_id", [MADE, "CartPole-v1"])
def test_its_steps_are_bit_equal_to_those_of_one_made_at_once(env_id: str, pool: Pool) -> None:
    def rollout(target: str) -> tuple[list[bytes], dict[str, Any]]:
        with RemoteEnv(target, env_id) as env:
            observation, info = env.reset(seed=7)
            seen = [np.asarray(observation).tobytes()]
            env.action_space.seed(7)
            for _ in range(100):
                observation, reward, *ended, _ = env.step(env.action_space.sample())
                seen.append(np.asarray(observation).tobytes() + repr((reward, ended)).encode())
                if any(ended):
                    observation, _ = env.reset()
                    seen.append(np.asarray(observation).tobytes())
            return seen, info

    with Server([env_id], **SETTINGS) as cold:
        assert pool.has(4)
        before = time.monotonic()
        warm, info = rollout(pool.server.target)
        assert info.get("made_at", 0.0) < before
        assert warm == rollout(cold.target)[0]


def test_a_warm_session_is_copied_like_any_other(pool: Pool) -> None:
    assert pool.has(4)
    env, warm, pid = pool.make()
    env.step(1)
    with env.fork() as copy:
        assert warm
        assert copy.step(1)[4] == {"steps": 2}
        assert parent_of(copy.reset()[1]["pid"]) == parent_of(pid)
    env.close()


def test_one_that_dies_is_replaced_after_a_pause() -> None:
    with Pool(f"{MADE}=1") as pool:
        assert pool.has(1)
        (pid,) = family_of(pool.server.pid) - {pool.server.pid, *_parents(pool.server.pid)}
        os.kill(pid, signal.SIGKILL)
        assert eventually(lambda: pool.ready == 0)
        env, warm, _ = pool.make()
        assert not warm
        assert pool.has(1)
        again, warm, another = pool.make()
        assert warm
        assert another != pid
        env.close()
        again.close()


def test_one_that_was_taken_is_its_clients_loss_alone() -> None:
    with Pool(f"{MADE}=1") as pool:
        assert pool.has(1)
        env, warm, pid = pool.make()
        assert warm
        assert pool.has(1)
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(SessionLostError, match="SIGKILL"):
            env.step(0)
        assert eventually(lambda: active(pool.server.target) == 0)
        assert pool.ready == 1


def _parents(front: int) -> set[int]:
    return {parent_of(pid) for pid in family_of(front) - {front}}


def test_the_pool_is_in_slots_that_nobody_has() -> None:
    with Pool(f"{MADE}=2", max_sessions=3) as pool, ExitStack() as envs:
        for left in (2, 1, 0):
            assert pool.has(min(left + 1, 2))
            env, warm, _ = pool.make()
            assert warm
            envs.enter_context(env)
            assert pool.has(left)
        assert eventually(lambda: len(family_of(pool.server.pid)) == 2 + 3)
        env.close()
        assert pool.has(1)


def test_a_shared_process_is_its_first_clients() -> None:
    with Pool(f"{MADE}=1", sessions_per_process=2) as pool:
        assert pool.has(1)
        first, warm, pid = pool.make()
        assert warm
        assert pool.has(1)
        second, warm, another = pool.make()  # the one that is there
        assert warm
        assert another != pid
        cold, warm, shared = pool.make(width=2)  # beside one of the client's own
        assert (warm, shared in {pid, another}) == (False, True)
        for env in (first, second, cold):
            env.close()


def test_what_cannot_be_made_keeps_no_server_from_serving() -> None:
    with Pool(f"{RAISING}=1", f"{MADE}=1") as pool:
        assert pool.has(1)
        with pytest.raises(RuntimeError, match="no simulator here"):
            RemoteEnv(pool.server.target, RAISING)


@pytest.mark.parametrize(
    ("warm", "says"),
    [
        ("Acrobot-v1=1", "names .Acrobot-v1., which is not among environments"),
        (f'{MADE}{{"render_mode": "human"}}=1', "names what no client may make: .*opens a window"),
    ],
)
def test_a_pool_that_cannot_be_is_named_at_the_start(warm: str, says: str) -> None:
    given = {"insecure": True, "host": "0.0.0.0", **SETTINGS}
    with pytest.raises(ServerError, match=says):
        Server([MADE], warm=[warm], **given).start()


def test_no_process_outlives_the_server() -> None:
    with Pool(f"{MADE}=3") as pool:
        assert pool.has(3)
        family = family_of(pool.server.pid)
    assert len(family) == 2 + 3
    assert eventually(lambda: not any(map(_alive, family)))


def _alive(pid: int) -> bool:
    return os.path.exists(f"/proc/{pid}")
