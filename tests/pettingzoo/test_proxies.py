"""Further functions of multi-agent proxies: attributes, errors, wrappers, closing."""

from __future__ import annotations

import copy
from typing import Any

import gymnasium
import numpy as np
import pettingzoo
import pytest

from envwire.client import (
    InvalidRequestError,
    NotAllowedError,
    RemoteEnvError,
    SessionClosedError,
)
from envwire.client.gymnasium import RemoteEnv
from envwire.server import InProcessTransport, Server
from tests.pettingzoo.conftest import Remote

COUNTDOWN = "tests/countdown-v0"
KINDS = pytest.mark.parametrize("kind", ["parallel", "aec"])


@pytest.fixture(params=["stream", "unary", "in process"])
def transport(request: pytest.FixtureRequest) -> Any:
    return request.param


@KINDS
def test_it_is_what_pettingzoo_calls_an_environment(kind: str, remote: Remote) -> None:
    env = remote(kind, "tests/countdown_v0")  # PettingZoo takes both spellings
    assert isinstance(env, {"parallel": pettingzoo.ParallelEnv, "aec": pettingzoo.AECEnv}[kind])
    assert (str(env), env.unwrapped, env.max_num_agents) == ("countdown_v0", env, 3)
    assert env.possible_agents == [1, 2, 3]
    assert env.observation_space(2) == gymnasium.spaces.Box(0, 99, (2,), np.int16)
    assert env.action_space(1) is env.action_space(1)


@KINDS
def test_close_twice_and_reset_after_it(kind: str, remote: Remote) -> None:
    env = remote(kind, COUNTDOWN)
    env.reset()
    env.close()
    env.close()
    with pytest.raises(SessionClosedError, match="reset"):
        env.step({1: 0} if kind == "parallel" else 0)
    env.reset()
    assert env.agents == [1, 2, 3]


def test_attributes_and_methods_of_the_environment(remote: Remote) -> None:
    env = remote("parallel", COUNTDOWN, render_mode="ansi")
    env.reset()
    assert (env.closed, env.doubled(4), env.render()) == (0, 8, "0")
    assert not hasattr(env, "missing")
    assert env._space == gymnasium.spaces.Discrete(2)
    assert not any(map(vars(env).__contains__, ("_space", "time")))
    env.unwrapped.time = 7
    assert (env.step({1: 0, 2: 0, 3: 0})[0][1], env.time) == (8, 8)
    with pytest.warns(UserWarning, match="no attribute 'tiem' on the server"):
        env.tiem = 1
    env.reset()
    with pytest.raises(TypeError, match="pickle"):
        copy.deepcopy(env)


def test_reading_before_reset(remote: Remote) -> None:
    env = remote("aec", "classic/tictactoe-v3")
    with pytest.raises(AttributeError, match="rewards cannot be accessed before reset"):
        _ = env.rewards
    with pytest.raises(AttributeError, match="agent_selection cannot be accessed before reset"):
        env.last()
    with pytest.raises(AssertionError):
        env.observe("player_1")


def test_observations_are_objects_of_their_own(remote: Remote) -> None:
    env = remote("aec", "classic/tictactoe-v3")
    env.reset()
    first, second = (env.last()[0] for _ in range(2))
    assert first["observation"] is not second["observation"]
    first["observation"] += 1
    assert not env.observe(env.agent_selection)["observation"].any()


@pytest.mark.parametrize(
    ("refused", "error", "reason"),
    [(1, RemoteEnvError, "ENVIRONMENT_RAISED"), (9, gymnasium.error.InvalidAction, None)],
)
@KINDS
def test_errors_have_their_class(
    kind: str, refused: int, error: type[Exception], reason: str | None, remote: Remote
) -> None:
    env = remote(kind, COUNTDOWN, agents=1, refused=refused)
    env.reset()
    with pytest.raises(error, match=f"not {refused}") as raised:
        env.step({1: refused} if kind == "parallel" else refused)
    assert getattr(raised.value, "reason", None) == reason
    with pytest.raises(KeyError, match="7"):
        env.step({1: 7} if kind == "parallel" else 7)
    env.step({1: 0} if kind == "parallel" else 0)
    assert env.truncations[1] if kind == "aec" else not env.agents


def test_what_is_not_served(remote: Remote) -> None:
    with pytest.raises(gymnasium.error.UnregisteredEnv):
        remote("parallel", "tests/missing-v0")
    with pytest.raises(gymnasium.error.UnregisteredEnv):
        remote("parallel", "classic/chess-v6")  # it has turns only
    with pytest.raises(InvalidRequestError, match="possible_agents"):
        remote("parallel", "tests/nameless-v0")
    with pytest.raises(TypeError, match="colour"):
        remote("parallel", COUNTDOWN, colour="red")


def test_wrappers_on_the_server(remote: Remote) -> None:
    remote("aec", COUNTDOWN, wrappers=[("OrderEnforcingWrapper", {})]).reset()
    for kind, name in [("parallel", "OrderEnforcingWrapper"), ("aec", "TimeLimit")]:
        with pytest.raises(NotAllowedError, match=f"pettingzoo.{kind} has no wrapper"):
            remote(kind, COUNTDOWN, wrappers=[(name, {})])


def test_plain_flags_tell_that_all_are_out(zoo: Server) -> None:
    env = RemoteEnv(zoo.target, COUNTDOWN, library="pettingzoo.parallel", agents=2)
    env.reset()
    told: list[Any] = []
    for _ in range(2):
        _, reward, terminated, truncated, info = env.step(dict.fromkeys((1, 2), 0))
        told.append((reward, terminated, truncated, info["agents"]))
    assert told == [
        ({1: 1.0, 2: 0.5}, {1: False, 2: False}, {1: True, 2: False}, [2]),
        ({2: 1.0}, {2: True}, {2: False}, []),
    ]
    env.close()


def test_patterns_that_list_nothing() -> None:
    with pytest.raises(LookupError, match=r"pettingzoo\.parallel"):
        InProcessTransport(["pettingzoo/missing/*"])
    with pytest.raises(LookupError):
        InProcessTransport(["classic/*", "pettingzoo/classic/*"])
