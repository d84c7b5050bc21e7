"""`gymnasium.make_vec` makes remote vector environments, and its other modes make vectors of proxies."""

from __future__ import annotations

from typing import Any

import gymnasium
import pytest

import envwire.client.gymnasium
from envwire.client import InvalidRequestError
from envwire.server import Server
from envwire.testing.comparing import identical
from tests.vector.conftest import BEHIND_ANY_GUARD
from tests.vector.faces import FAMILIES, rollout

pytestmark = pytest.mark.filterwarnings("default")


@BEHIND_ANY_GUARD
@pytest.mark.parametrize(
    ("mode", "kind"),
    [
        (None, envwire.client.gymnasium.RemoteVectorEnv),
        ("sync", gymnasium.vector.SyncVectorEnv),
        ("async", gymnasium.vector.AsyncVectorEnv),
    ],
)
def test_make_vec(vector_server: Server, mode: Any, kind: type[Any]) -> None:
    remote = gymnasium.make_vec(
        "envwire/Remote-v0",
        num_envs=3,
        vectorization_mode=mode,
        target=vector_server.target,
        env_id="CartPole-v1",
    )
    local = FAMILIES["gymnasium"].local("CartPole-v1", 3)
    assert type(remote) is kind
    assert identical(rollout(remote, 40, seed=2), rollout(local, 40, seed=2))
    remote.close()
    local.close()


@BEHIND_ANY_GUARD
def test_the_spec_after_make_vec_has_the_limit(vector_server: Server) -> None:
    remote: Any = gymnasium.make_vec(
        "envwire/Remote-v0", target=vector_server.target, env_id="CartPole-v1"
    )
    assert (remote.spec.max_episode_steps, remote.spec.reward_threshold) == (500, 475.0)
    remote.close()


@pytest.mark.parametrize("mode", [3, b"sync", ["sync"]])
def test_a_vectorization_mode_that_is_none(vector_server: Server, mode: Any) -> None:
    with pytest.raises(ValueError, match="Invalid vectorization mode") as local:
        gymnasium.make_vec("CartPole-v1", vectorization_mode=mode)
    with pytest.raises(ValueError, match="Invalid vectorization mode") as remote:
        envwire.client.gymnasium.RemoteVectorEnv(
            vector_server.target, "CartPole-v1", 2, vectorization_mode=mode
        )
    assert str(remote.value) == str(local.value).replace("'async', ", "")


def test_a_member_of_gymnasiums_vectorize_mode(vector_server: Server) -> None:
    mode: Any = gymnasium.VectorizeMode.SYNC
    envs = envwire.client.gymnasium.RemoteVectorEnv(
        vector_server.target, "CartPole-v1", 2, vectorization_mode=mode
    )
    assert envs.reset(seed=1)[0].shape == (2, 4)
    envs.close()


@pytest.mark.parametrize("name", ["vector_kwargs", "num_envs"])
def test_arguments_of_make_vec_are_none_of_environments(vector_server: Server, name: str) -> None:
    given: Any = {name: {"autoreset_mode": "SameStep"}}
    with pytest.raises(InvalidRequestError, match=f"{name} among .* make_vec takes that itself"):
        envwire.client.gymnasium.RemoteVectorEnv(
            vector_server.target, "CartPole-v1", 4, env_kwargs=given
        )


def test_wrappers_of_the_library_go_around_it(vector_server: Server) -> None:
    wrappers = gymnasium.wrappers.vector
    target = vector_server.target
    envs = [
        envwire.client.gymnasium.RemoteVectorEnv(target, "CartPole-v1", 4, sessions=2),
        FAMILIES["gymnasium"].local("CartPole-v1", 4),
    ]
    seen: list[Any] = []
    for env in envs:
        wrapped = wrappers.NormalizeObservation(
            wrappers.RecordEpisodeStatistics(wrappers.ClipReward(env, 0.0, 0.5))
        )
        seen.append(rollout(wrapped, 80, seed=9))
        for *_, infos in seen[-1]:
            infos.get("episode", {}).pop("t", None)  # the time that it took
        wrapped.close()
    assert identical(*seen)
