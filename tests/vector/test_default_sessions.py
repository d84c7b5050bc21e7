"""The default number of sessions of a vector environment follows from the cost of a step."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from envwire.client import RemoteVectorEnv, aio
from envwire.client._transports.by_name import open_transport
from envwire.client._transports.transport import call
from envwire.client._vector.layout import Capacity, lay_out
from envwire.server import Server
from envwire.v1 import environment_pb2 as pb

_MODULE = """
import time
import envwire.envs as gym

class Lasting(gym.Env):
    observation_space = gym.spaces.Discrete(2)
    action_space = gym.spaces.Discrete(2)

    def __init__(self, seconds=0.0):
        self.seconds = seconds

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        if self.seconds:
            time.sleep(self.seconds)
        return 0, 0.0, False, False, {}

for name in ("New", "Used", "Copied"):
    gym.register(f"lab/{name}-v0", entry_point=Lasting)
gym.register("lab/Dear-v0", entry_point=Lasting, kwargs={"seconds": 0.003})
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    path = tmp_path_factory.mktemp("laboratory") / "lasting.py"
    path.write_text(_MODULE, encoding="utf-8")
    with Server(["lab/*", "CartPole-v1"], imports=[str(path)]) as running:
        yield running


def ask(server: Server, env_id: str = "") -> pb.GetServerInfoResponse:
    transport = open_transport("unary", server.target, 10.0)
    make = pb.MakeRequest(env_id=env_id, prefer="envwire")  # as the proxies of this library make it
    question = pb.GetServerInfoRequest(env_id=env_id, make=make)
    info = call(transport, pb.InteractRequest(get_server_info=question), 10.0).get_server_info
    transport.close()
    return info


def sessions_of(server: Server, env_id: str, num_envs: int) -> int:
    """Returns how many sessions a vector environment has by default."""
    envs = RemoteVectorEnv(server.target, env_id, num_envs)
    held = ask(server).active_sessions
    envs.close()
    return held


def use(server: Server, env_id: str, **options: Any) -> float:
    """Steps environments until the server has measured them, and returns its step time."""
    envs = RemoteVectorEnv(server.target, env_id, 2, sessions=1, **options)
    envs.reset(seed=1)
    deadline = time.monotonic() + 60
    while not ask(server, env_id).HasField("step_time"):
        assert time.monotonic() < deadline
        for _ in range(200):
            envs.step(np.array([0, 1]))
    envs.close()
    return ask(server, env_id).step_time.ToNanoseconds() / 1e9


def test_an_environment_that_the_server_never_had_goes_apart(server: Server) -> None:
    info = ask(server, "lab/New-v0")
    assert not info.HasField("step_time")
    assert sessions_of(server, "lab/New-v0", 8) == min(8, info.cpu_count)


def test_cheap_environments_of_the_libraries_step_together(server: Server) -> None:
    assert ask(server, "CartPole-v1").HasField("step_time")
    assert sessions_of(server, "CartPole-v1", 4) == 1


@pytest.mark.serial  # on a busy machine its steps are not cheap
def test_an_environment_that_proved_cheap_steps_together(server: Server) -> None:
    use(server, "lab/Used-v0")
    assert sessions_of(server, "lab/Used-v0", 2) == 1


def test_a_dear_environment_goes_apart(server: Server) -> None:
    assert (
        use(server, "lab/Dear-v0") * 1.2 >= 3e-3
    )  # the reset, and whatever else took no step, lower the mean
    assert sessions_of(server, "lab/Dear-v0", 8) == min(8, ask(server).cpu_count)


def test_an_environment_of_an_event_loop_asks_as_well(server: Server) -> None:
    async def count() -> int:
        async with aio.RemoteVectorEnv(server.target, "CartPole-v1", num_envs=4) as envs:
            await envs.reset(seed=1)
            return ask(server).active_sessions

    assert asyncio.run(count()) == 1


def test_the_time_of_an_environment_that_is_not_named_is_not_told(server: Server) -> None:
    assert not ask(server).HasField("step_time")
    assert not ask(server, "unknown").HasField("step_time")


@pytest.mark.parametrize(
    ("num_envs", "step_time", "processors", "sessions"),
    [
        (8, 6e-6, (2,), 1),
        (64, 6e-6, (2,), 2),
        (2, 6e-6, (64,), 1),
        (1000, 6e-6, (64,), 10),
        (8, 1e-3, (2,), 2),
        (3, 1e-3, (64,), 3),
        (8, None, (2,), 2),
        (8, 0.0, (2,), 1),
        (8, 6e-6, (2, 2), 2),  # each server has one at least
    ],
)
def test_sessions_for_a_step_s_cost(
    num_envs: int, step_time: float | None, processors: tuple[int, ...], sessions: int
) -> None:
    capacities = [Capacity(count, 0, step_time) for count in processors]
    assert len(lay_out(num_envs, None, num_envs, capacities)) == sessions


def test_one_server_that_does_not_know_is_enough_to_go_apart() -> None:
    assert len(lay_out(8, None, 8, [Capacity(2, 0, 6e-6), Capacity(2, 0)])) == 4


def test_batches_of_those_that_finish_first_go_apart_whatever_they_cost() -> None:
    assert len(lay_out(8, None, 4, [Capacity(4, 0, 6e-6)])) == 4
