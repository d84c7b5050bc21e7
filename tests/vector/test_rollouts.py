"""Remote vector environments give the same results as a local `SyncVectorEnv`, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from envwire.server import InProcessTransport, Server
from envwire.testing.comparing import identical
from tests.tiers import cross
from tests.vector.conftest import BEHIND_ANY_GUARD, HOSTED, SETTINGS
from tests.vector.faces import FAMILIES, Family, episodes, rollout

pytestmark = pytest.mark.filterwarnings("default")

FAMILY = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)


def _same(remote: Any, local: Any, steps: int, seed: int, masked: bool = False) -> None:
    try:
        seen = [rollout(env, steps, seed, masked) for env in (remote, local)]
    finally:
        remote.close()
        local.close()
    for index, (its, ours) in enumerate(zip(*seen, strict=True)):
        assert identical(its, ours), (index, its, ours)
    assert episodes(seen[1]) > 0


@pytest.mark.parametrize(
    ("family", "sessions", "mode", "env_id"),
    cross(
        FAMILIES,
        [2, 1, 3],
        ["NEXT_STEP", "SAME_STEP", "DISABLED"],
        ["vectors/Moody-v0", "FrozenLake-v1"],
    ),
)
def test_autoreset_modes_and_infos(
    vector_server: Server, family: Family, sessions: int, mode: str, env_id: str
) -> None:
    remote = family.remote(vector_server.target, env_id, 5, sessions=sessions, autoreset_mode=mode)
    _same(remote, family.local(env_id, 5, mode), 60, seed=sessions, masked=mode == "DISABLED")


@BEHIND_ANY_GUARD
@pytest.mark.parametrize(
    ("family", "transport", "env_id"),
    cross(
        FAMILIES,
        ["direct-unix", "direct-tcp", "stream", "unary"],
        ["vectors/Moody-v0", "CartPole-v1"],
    ),
)
def test_transports(vector_server: Server, family: Family, transport: str, env_id: str) -> None:
    remote = family.remote(vector_server.target, env_id, 4, sessions=2, transport=transport)
    _same(remote, family.local(env_id, 4), 40, seed=5)


@FAMILY
def test_in_process(family: Family) -> None:
    transport = InProcessTransport(HOSTED, imports=SETTINGS["imports"])
    remote = family.remote(None, "CartPole-v1", 3, transport=transport)
    _same(remote, family.local("CartPole-v1", 3), 60, seed=4)


@BEHIND_ANY_GUARD
@pytest.mark.parametrize(
    ("family", "transport", "sizes"),
    cross(FAMILIES, ["direct-unix", "direct-tcp", "stream"], [(5, 2), (2, 1), (6, 3)]),
)
def test_large_observations(
    vector_server: Server, family: Family, transport: str, sizes: tuple[int, int]
) -> None:
    target = vector_server.target
    num_envs, sessions = sizes
    remote = family.remote(
        target, "vectors/Large-v0", num_envs, sessions=sessions, transport=transport
    )
    _same(remote, family.local("vectors/Large-v0", num_envs), 14, seed=8)


@pytest.mark.parametrize(("family", "sizes"), cross(FAMILIES, [(7, 3), (1, 1), (64, 2)]))
def test_large_and_uneven(vector_server: Server, family: Family, sizes: tuple[int, int]) -> None:
    num_envs, sessions = sizes
    remote = family.remote(vector_server.target, "Pendulum-v1", num_envs, sessions=sessions)
    _same(remote, family.local("Pendulum-v1", num_envs), 205, seed=2)


@BEHIND_ANY_GUARD
@pytest.mark.parametrize("sessions", [1, 2])
def test_structured_spaces(vector_server: Server, sessions: int) -> None:
    family = FAMILIES["envwire"]
    for env_id, steps in (("GridWorld-v0", 60), ("tests/Awkward-v0", 3)):
        remote = family.remote(vector_server.target, env_id, 3, sessions=sessions)
        local = family.local(env_id, 3)
        its, ours = (rollout(env, steps, seed=6) for env in (remote, local))
        assert identical(_without_functions(its), _without_functions(ours))
        remote.close()
        local.close()


def _without_functions(seen: list[Any]) -> list[Any]:
    """Leaves out what has no wire form, and arrives as a stand-in."""
    for *_, infos in seen:
        infos.pop("function", None)
    return seen


@FAMILY
@pytest.mark.parametrize("seed", [None, 3, [5, None, 7, 9, 2**70]])
def test_seeds(vector_server: Server, family: Family, seed: Any) -> None:
    remote = family.remote(vector_server.target, "CartPole-v1", 5, sessions=2)
    local = family.local("CartPole-v1", 5)
    first, second = (env.reset(seed=seed)[0] for env in (remote, local))
    known = [False] * 5 if seed is None else [True] * 5
    if isinstance(seed, list):
        known = [own is not None for own in seed]  # pyright: ignore[reportUnknownVariableType]
    assert (first == second).all(axis=1).tolist() == known
    for wrong in ([1, 2], [1] * 6):
        for env in (remote, local):
            with pytest.raises(ValueError, match=r"num_envs|seeds"):
                env.reset(seed=wrong)
    remote.close()
    local.close()


@FAMILY
def test_options_reach_every_environment(vector_server: Server, family: Family) -> None:
    remote = family.remote(vector_server.target, "vectors/Moody-v0", 4, sessions=2)
    local = family.local("vectors/Moody-v0", 4)
    options = {"low": -0.1, "list": [1, (2.5, "x")]}
    its, ours = (env.reset(seed=1, options=dict(options)) for env in (remote, local))
    assert identical(its, ours)
    assert its[1]["options"].tolist() == [str(options)] * 4
    each: Any = [{"a": 1}, {}, None, {"b": 2}]
    infos = remote.reset(seed=1, options=each)[1]
    assert infos["options"].tolist() == [str({"a": 1}), None, None, str({"b": 2})]
    with pytest.raises(ValueError, match="one for each"):
        remote.reset(options=each[:2])
    remote.close()
    local.close()


@FAMILY
@pytest.mark.parametrize(
    "mask", [[True, False], np.ones(3, np.bool_), np.ones(4), np.zeros(4, np.bool_)], ids=str
)
def test_masks_that_are_none(vector_server: Server, family: Family, mask: Any) -> None:
    for env in (
        family.remote(vector_server.target, "CartPole-v1", 4, sessions=2),
        family.local("CartPole-v1", 4),
    ):
        env.reset(seed=1)
        with pytest.raises((TypeError, ValueError), match="reset_mask"):
            env.reset(options={"reset_mask": mask})
        env.close()


@FAMILY
@pytest.mark.parametrize("env_id", ["CartPole-v1", "vectors/Moody-v0"])
def test_what_it_shows(vector_server: Server, family: Family, env_id: str) -> None:
    remote = family.remote(vector_server.target, env_id, 5, sessions=2)
    local = family.local(env_id, 5)
    assert isinstance(remote, family.library.vector.VectorEnv)
    for name in ("num_envs", "metadata", "render_mode", "closed"):
        assert identical(getattr(remote, name), getattr(local, name)), name
    for name in ("observation_space", "action_space"):
        for space in (name, f"single_{name}"):
            assert getattr(remote, space) == getattr(local, space)
    assert (remote.spec.id, remote.spec.max_episode_steps) == (
        local.spec.id,
        local.spec.max_episode_steps,
    )
    assert remote.unwrapped is remote
    assert str(remote) == f"RemoteVectorEnv({env_id}, num_envs=5)"
    again = family.library.make_vec(remote.spec)
    assert (type(again), again.num_envs) == (type(remote), 5)
    assert identical(again.reset(seed=2)[0], local.reset(seed=2)[0])
    for env in (remote, local, again):
        env.close()


@pytest.mark.parametrize("sessions", [1, 2])
def test_native_vector_environment(vector_server: Server, sessions: int) -> None:
    family = FAMILIES["envwire"]
    remote = family.remote(
        vector_server.target,
        "CartPole-v1",
        1024,
        sessions=sessions,
        vectorization_mode="vector_entry_point",
    )
    size = 1024 // sessions
    locals_ = [family.library.make_vec("CartPole-v1", size) for _ in range(sessions)]
    seeds = [3 + size * place for place in range(sessions)]
    ours = [env.reset(seed=seed) for env, seed in zip(locals_, seeds, strict=True)]
    assert identical(remote.reset(seed=3)[0], np.concatenate([first for first, _ in ours]))
    remote.action_space.seed(1)
    for _ in range(30):
        actions = remote.action_space.sample()
        parts = [
            env.step(part) for env, part in zip(locals_, np.split(actions, sessions), strict=True)
        ]
        whole = tuple(np.concatenate(column) for column in list(zip(*parts, strict=True))[:4])
        assert identical(remote.step(actions), (*whole, {}))
    remote.close()
    for env in locals_:
        env.close()
