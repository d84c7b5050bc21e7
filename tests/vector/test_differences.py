"""Members with keyword arguments of their own: the results equal those of a `SyncVectorEnv` of different makers."""

from __future__ import annotations

import asyncio
from contextlib import closing
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest

from envwire.client import InvalidRequestError, aio
from envwire.codec import FaultError, Reason, encode_mapping
from envwire.server import InProcessTransport, Server
from envwire.server._auth.allow_list import AllowList, read_allowed
from envwire.testing.comparing import identical
from envwire.v1 import environment_pb2 as pb
from tests.conftest import ROOT
from tests.faults.scene import kill_sessions
from tests.tiers import cross
from tests.vector.conftest import HOSTED, SETTINGS
from tests.vector.faces import FAMILIES, Family, episodes, rollout

pytestmark = pytest.mark.filterwarnings("default")

FAMILY = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
ENV = "vectors/Levelled-v0"
#: A level each, episodes of different lengths, and with another `high` also other bounds of the observations.
SAME = [{"level": 2, "length": 3}, {}, {"level": 0.5, "length": 5}, {"length": 2}]
DIFFERENT = [{**each, "high": 4.0 + index} for index, each in enumerate(SAME)]


def local(
    family: Family,
    members: list[dict[str, Any]],
    mode: str = "NEXT_STEP",
    observations: str = "same",
) -> Any:
    """Makes a `SyncVectorEnv` of a maker for each member."""
    makers = [partial(family.library.make, ENV, **{"length": 4, **each}) for each in members]
    vector = family.library.vector
    return vector.SyncVectorEnv(
        makers, autoreset_mode=vector.AutoresetMode[mode], observation_mode=observations
    )


def remote(family: Family, target: Any, members: list[dict[str, Any]], **settings: Any) -> Any:
    """Makes remote ones; all get `length`, which some members replace."""
    return family.remote(target, ENV, len(members), member_kwargs=members, length=4, **settings)


@pytest.mark.parametrize(
    ("family", "sessions", "mode", "observations", "transport"),
    cross(
        FAMILIES,
        [2, 1, 3],
        ["NEXT_STEP", "SAME_STEP", "DISABLED"],
        ["same", "different"],
        ["direct", "unary", "stream"],
    ),
)
def test_results_are_those_of_different_makers(
    vector_server: Server,
    family: Family,
    sessions: int,
    mode: str,
    observations: str,
    transport: str,
) -> None:
    members = SAME if observations == "same" else DIFFERENT
    there = remote(
        family,
        vector_server.target,
        members,
        sessions=sessions,
        autoreset_mode=mode,
        observation_mode=observations,
        transport=transport,
    )
    here = local(family, members, mode, observations)
    with closing(there), closing(here):
        for name in ("observation_space", "single_observation_space", "action_space"):
            assert getattr(there, name) == getattr(here, name), name
        seen = [rollout(env, 40, 3, masked=mode == "DISABLED") for env in (there, here)]
        assert identical(*seen)
        assert episodes(seen[1]) > 0
        assert there.observation_mode == here.observation_mode
        assert there.get_attr("level") == here.get_attr("level")
        for env in (there, here):
            env.set_attr("level", [1, 2, 3, 4])
        assert identical(*(rollout(env, 5, 4, masked=mode == "DISABLED") for env in (there, here)))


@FAMILY
def test_in_process(family: Family) -> None:
    transport = InProcessTransport(HOSTED, imports=SETTINGS["imports"])
    there, here = remote(family, None, SAME, transport=transport), local(family, SAME)
    with closing(there), closing(here):
        assert identical(*(rollout(env, 20, 3) for env in (there, here)))


@FAMILY
def test_wrappers_go_around_each(vector_server: Server, family: Family) -> None:
    wrappers = [("TimeLimit", {"max_episode_steps": 2})]
    there = remote(family, vector_server.target, SAME, wrappers=wrappers, autoreset_mode="DISABLED")
    with closing(there):
        there.reset(seed=1)
        actions = np.zeros(4, np.int64)
        there.step(actions)
        assert there.step(actions)[3].all()


@FAMILY
@pytest.mark.parametrize("observations", ["same", "different"])
def test_spaces_that_do_not_fit_are_the_local_error(
    vector_server: Server, family: Family, observations: str
) -> None:
    members = DIFFERENT if observations == "same" else [{"size": 1}, {"size": 2}]
    with pytest.raises((RuntimeError, ValueError)) as caught:
        local(family, members, observations=observations)
    for sessions in (1, 2):
        with pytest.raises(caught.type):
            remote(
                family,
                vector_server.target,
                members,
                sessions=sessions,
                observation_mode=observations,
            )


def test_arguments_that_do_not_fit_are_refused(vector_server: Server) -> None:
    make = partial(FAMILIES["envwire"].remote, vector_server.target, ENV)
    with pytest.raises(ValueError, match="2 elements for num_envs=3; give one for each"):
        make(3, member_kwargs=[{}, {}])
    with pytest.raises(TypeError, match="is not a mapping"):
        make(1, member_kwargs=["level"])
    with pytest.raises(ValueError, match="is not one of same, different"):
        make(1, observation_mode="other")
    with pytest.raises(InvalidRequestError, match="step one after another"):
        make(1, member_kwargs=[{}], vectorization_mode="vector_entry_point")


def test_the_operators_lists_hold_for_each_member() -> None:
    allowed = AllowList(False, read_allowed([f"{ENV}=level:{{1,2}}"]))
    request = pb.MakeRequest(env_id=ENV, vector=pb.VectorRequest(num_envs=2))
    for level in (1, 2):
        encode_mapping({"level": level}, request.vector.member_kwargs.add())
    allowed.check(request)
    for wrong in ({"level": 3}, {"length": 1}):
        refused = pb.MakeRequest.FromString(request.SerializeToString())
        encode_mapping(wrong, refused.vector.member_kwargs[1])
        with pytest.raises(FaultError) as caught:
            allowed.check(refused)
        assert caught.value.reason is Reason.KWARGS_NOT_ALLOWED
    del request.vector.member_kwargs[1]
    with pytest.raises(FaultError, match="give each its own"):
        allowed.check(request)


@pytest.mark.parametrize("on_lost", ["replay"])
def test_a_lost_session_is_replayed_with_its_members(on_lost: str) -> None:
    family = FAMILIES["gymnasium"]
    with Server([ENV], imports=["tests.vector.hosted"], sys_path=(ROOT,)) as server:
        there = remote(family, server.target, SAME, sessions=2, on_lost=on_lost)
        here = local(family, SAME)
        with closing(there), closing(here):
            actions = np.ones(4, np.int64)
            assert identical(there.reset(seed=2), here.reset(seed=2))
            for _ in range(3):
                assert identical(there.step(actions), here.step(actions))
            kill_sessions(server)
            for _ in range(6):
                assert identical(there.step(actions), here.step(actions))


def test_asyncio_make_vec_and_stable_baselines(vector_server: Server) -> None:
    here = local(FAMILIES["envwire"], SAME)
    expected = rollout(here, 10, 3)

    async def drive() -> list[Any]:
        envs = await aio.RemoteVectorEnv.make(
            vector_server.target, ENV, 4, sessions=2, member_kwargs=SAME, length=4
        )
        async with envs:
            envs.action_space.seed(3)
            seen: list[Any] = [await envs.reset(seed=3)]
            return [*seen, *[await envs.step(envs.action_space.sample()) for _ in range(10)]]

    assert identical(asyncio.run(drive()), expected)
    envs: Any = gymnasium.make_vec(
        "envwire/Remote-v0",
        4,
        target=vector_server.target,
        env_id=ENV,
        member_kwargs=SAME,
        library="envwire",
        length=4,
    )
    with closing(envs):
        assert envs.get_attr("level") == here.get_attr("level")


def test_stable_baselines(vector_server: Server) -> None:
    pytest.importorskip("stable_baselines3")
    from envwire.client.stable_baselines3 import RemoteVecEnv

    with closing(RemoteVecEnv(vector_server.target, ENV, 4, member_kwargs=SAME)) as envs:
        assert envs.get_attr("level") == [2, 1, 0.5, 1]
