"""Spaces that an environment changes when it is reset: a proxy follows a local environment; a vector refuses them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import gymnasium
import pytest

from envwire.client import InvalidRequestError, RemoteEnv, RemoteVectorEnv, aio
from envwire.client.gymnasium import RemoteEnv as GymnasiumEnv
from envwire.client.gymnasium import RemoteVectorEnv as GymnasiumVectorEnv
from envwire.server import InProcessTransport, Server
from envwire.testing.comparing import identical
from tests.compliance.changing_envs import CHANGING, NATIVE, RENEWING
from tests.conftest import ROOT
from tests.faults.scene import kill_sessions

IDS = (CHANGING, NATIVE, RENEWING)
IMPORTS = ["tests.compliance.changing_envs"]
TRANSPORTS = ("direct", "stream", "unary", None)
#: Seed and options of the resets of an episode each.
RESETS: list[dict[str, Any]] = [
    {"seed": 1},
    {"options": {"n": 5}},
    {},
    {"options": {"n": 5}},
    {"options": {"n": 3}},
    {"seed": 2, "options": {"n": 9, "seeded": True}},
]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server(IDS, imports=IMPORTS, sys_path=(ROOT,)) as server:
        yield server


def _transport(name: str | None) -> Any:
    return name or InProcessTransport(IDS, imports=IMPORTS)


def _spaces(env: Any) -> tuple[Any, Any]:
    return env.observation_space, env.action_space


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_proxy_has_the_spaces_of_a_local_environment(
    server: Server, transport: str | None
) -> None:
    local: Any = gymnasium.make(CHANGING)
    given = _transport(transport)
    with GymnasiumEnv(server.target, CHANGING, transport=given, library="gymnasium") as remote:
        for reset in RESETS:
            assert identical(remote.reset(**reset), local.reset(**reset))
            assert _spaces(remote) == _spaces(local)
            last = int(local.action_space.n) - 1
            assert identical(remote.step(last), local.step(last))
            for _ in range(3 if reset.get("options", {}).get("seeded") else 0):
                assert remote.action_space.sample() == local.action_space.sample()


def test_an_asyncio_proxy_follows_them(server: Server) -> None:
    async def drive() -> None:
        async with aio.RemoteEnv(server.target, CHANGING) as env:
            await env.reset(options={"n": 5})
            assert env.action_space.n == 5
            copy = await env.fork()
            await env.reset(options={"n": 3})
            assert env.action_space.n == 3
            assert copy.action_space.n == 5
            await copy.close()

    asyncio.run(drive())


def test_equal_spaces_stay_the_same_objects(server: Server) -> None:
    with RemoteEnv(server.target, RENEWING) as env:
        spaces = _spaces(env)
        for _ in range(3):
            env.reset()
            assert all(here is before for here, before in zip(_spaces(env), spaces, strict=True))
    with RemoteEnv(server.target, CHANGING) as env:
        env.reset(options={"n": 4})
        spaces = _spaces(env)
        env.reset()
        assert all(here is before for here, before in zip(_spaces(env), spaces, strict=True))


def test_an_environment_made_again_begins_with_its_first_spaces(server: Server) -> None:
    with RemoteEnv(server.target, CHANGING) as env:
        first = _spaces(env)
        env.reset(options={"n": 4})
        env.close()
        env.reset()
        assert _spaces(env) == first


def test_a_lost_session_is_replayed_with_its_spaces(server: Server) -> None:
    local: Any = gymnasium.make(CHANGING)
    settings: Any = {"on_lost": "replay", "library": "gymnasium"}
    with GymnasiumEnv(server.target, CHANGING, **settings) as remote:
        for env in (local, remote):
            env.reset(seed=3, options={"n": 6})
        kill_sessions(server)
        assert identical(remote.step(5), local.step(5))
        assert _spaces(remote) == _spaces(local)
        assert identical(remote.reset(options={"n": 2}), local.reset(options={"n": 2}))
        assert _spaces(remote) == _spaces(local)


def test_copies_and_saved_states_have_their_spaces(server: Server) -> None:
    with RemoteEnv(server.target, CHANGING, on_lost="replay") as env:
        env.reset(seed=3, options={"n": 6})
        state = env.save_state()
        with env.fork() as copy:
            env.reset(options={"n": 4})
            assert (env.action_space.n, copy.action_space.n) == (4, 6)
            copy.step(5)
            copy.reset()
            assert copy.action_space.n == 6
            copy.reset(options={"n": 3})
            assert copy.action_space.n == 3
        env.restore_state(state)
        assert env.action_space.n == 6
        env.step(5)


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize(
    ("env_id", "settings"), [(CHANGING, {}), (NATIVE, {"vectorization_mode": "vector_entry_point"})]
)
def test_a_vector_refuses_them(
    server: Server, env_id: str, settings: dict[str, Any], transport: str | None
) -> None:
    given = _transport(transport)
    for kind in (RemoteVectorEnv, GymnasiumVectorEnv):
        with closing(kind(server.target, env_id, 2, transport=given, **settings)) as envs:
            envs.reset()
            with pytest.raises(InvalidRequestError, match=r"the reset changed the .* are fixed"):
                envs.reset(options={"n": 5})


@pytest.mark.parametrize("on_lost", ["raise", "replay"])
@pytest.mark.parametrize("autoreset_mode", ["NEXT_STEP", "SAME_STEP"])
def test_a_vector_refuses_those_of_an_automatic_reset(
    server: Server, on_lost: str, autoreset_mode: str
) -> None:
    settings: Any = {"autoreset_mode": autoreset_mode, "on_lost": on_lost, "change_at": 2}
    with closing(RemoteVectorEnv(server.target, RENEWING, 2, **settings)) as envs:
        envs.reset(seed=1)
        actions = envs.action_space.sample()
        if autoreset_mode == "NEXT_STEP":
            envs.step(actions)
        with pytest.raises(InvalidRequestError, match="changed the action_space of member 0"):
            envs.step(actions)
