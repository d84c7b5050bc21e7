"""A proxy is made again from its specification or its pickle, and is read through like the environment itself."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from envwire import envs
from envwire.client import Credentials, RemoteEnv
from envwire.client.gymnasium import RemoteEnv as GymnasiumRemoteEnv
from envwire.client.gymnasium import RemoteVectorEnv
from envwire.server import InProcessTransport, Server
from envwire.testing.comparing import identical, rollout

FACES = pytest.mark.parametrize(
    ("face", "library"), [(RemoteEnv, envs), (GymnasiumRemoteEnv, gymnasium)], ids=["own", "guest"]
)


@FACES
@pytest.mark.parametrize(
    "send", [lambda spec: pickle.loads(pickle.dumps(spec)), copy.deepcopy], ids=["pickle", "copy"]
)
def test_a_specification_can_be_sent(
    server: Server, face: Any, library: Any, send: Callable[[Any], Any]
) -> None:
    env = face(
        server.target,
        "FrozenLake-v1",
        render_mode="ansi",
        wrappers=[("TimeLimit", {"max_episode_steps": 3})],
        on_lost="replay",
        map_name="8x8",
    )
    again = library.make(send(env.spec))
    assert identical(rollout(again.unwrapped, 10, seed=2), rollout(env, 10, seed=2))
    assert again.render_mode == "ansi"
    for each in (env, again):
        each.close()


def test_a_specification_is_written_as_json(server: Server) -> None:
    env = GymnasiumRemoteEnv(server.target, "FrozenLake-v1", is_slippery=False, lease=30.0)
    written = env.spec.to_json()
    again = gymnasium.make(gymnasium.envs.registration.EnvSpec.from_json(written))
    assert identical(rollout(again.unwrapped, 10, seed=2), rollout(env, 10, seed=2))
    for each in (env, again):
        each.close()


def test_a_specification_holds_no_credentials(server: Server) -> None:
    secret = Credentials(token="a-secret")
    env = GymnasiumRemoteEnv(server.target, "CartPole-v1", credentials=secret)
    assert "a-secret" not in repr(env.spec)
    with pytest.raises(ValueError, match="Callable found"):
        env.spec.to_json()
    again = gymnasium.make(env.spec)  # in this program it works as any other does
    for each in (env, again):
        each.close()


def test_an_open_transport_stays_in_its_program() -> None:
    transport = InProcessTransport(["CartPole-v1"])
    env = RemoteEnv("", "CartPole-v1", transport=transport)
    again = envs.make(env.spec)
    assert identical(rollout(again.unwrapped, 5, seed=2), rollout(env, 5, seed=2))
    transport.close_sessions()


@FACES
def test_a_proxy_that_was_not_reset_is_pickled_as_its_recipe(
    server: Server, face: Any, library: Any
) -> None:
    del library
    env = face(server.target, "CartPole-v1", wrappers=["TimeAwareObservation"])
    copies = [pickle.loads(pickle.dumps(env)), copy.deepcopy(env)]
    expected = rollout(env, 10, seed=2)
    for each in copies:
        assert type(each) is face
        assert identical(rollout(each, 10, seed=2), expected)
        each.close()
    env.close()


@pytest.mark.parametrize(
    "use",
    [
        lambda env: env.reset(),
        lambda env: env.set_wrapper_attr("gravity", 1.0),
        lambda env: env.np_random.random(),
    ],
    ids=["reset", "set", "drawn"],
)
def test_one_that_was_used_is_not(server: Server, use: Callable[[Any], Any]) -> None:
    env = RemoteEnv(server.target, "CartPole-v1")
    use(env)
    with pytest.raises(TypeError, match="its state is on the server"):
        pickle.dumps(env)
    env.close()


@FACES
def test_attributes_are_read_through(server: Server, face: Any, library: Any) -> None:
    local: Any = library.make("Acrobot-v1").unwrapped
    env = face(server.target, "Acrobot-v1")
    assert env.unwrapped.LINK_LENGTH_1 == local.LINK_LENGTH_1
    assert env.dt == local.dt
    faulty = face(server.target, "tests/Faulty-v0")
    assert faulty.add(2, right=3) == 5
    for name in ("no_such_thing", "_repr_html_", "__array__"):
        assert not hasattr(env, name)
    env.close()
    assert not hasattr(env, "dt"), (
        "there is nobody to ask, and nothing is raised but AttributeError"
    )
    faulty.close()


def test_what_the_operator_did_not_list_is_no_attribute(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"host": "0.0.0.0", "insecure": True, "allow_attributes": ["dt"]}
    with Server(["Acrobot-v1"], **settings) as server:
        env = RemoteEnv(server.target.replace("0.0.0.0", "127.0.0.1"), "Acrobot-v1")
        assert env.dt == 0.2
        assert not hasattr(env, "LINK_LENGTH_1")
        with pytest.raises(AttributeError, match="LINK_LENGTH_1"):
            _ = env.LINK_LENGTH_1
        env.close()


def test_a_vector_says_when_it_resets(server: Server) -> None:
    modes = pytest.importorskip("gymnasium.vector").AutoresetMode
    for mode in ("NEXT_STEP", "SAME_STEP"):
        remote = RemoteVectorEnv(server.target, "CartPole-v1", 2, autoreset_mode=mode)
        assert remote.autoreset_mode is modes[mode]
        assert remote.observation_mode == "same"
        remote.close()


def test_what_is_read_through_is_a_copy_that_cannot_be_written_into(server: Server) -> None:
    env = RemoteEnv(server.target, "CliffWalking-v1")
    with pytest.raises(ValueError, match="read-only"):
        env.unwrapped.initial_state_distrib[...] = 0
    env.close()
