"""What holds with every version of Gymnasium from 0.29 on, the installed one being it."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from envwire.client.gymnasium import RemoteEnv
from envwire.server import Server
from envwire.testing.comparing import identical, rollout

pytestmark = pytest.mark.filterwarnings("default")

#: Wrappers of every version, with their arguments.
STACK: tuple[tuple[str, dict[str, Any]], ...] = (
    ("RescaleAction", {"min_action": 0, "max_action": 1}),
    ("TimeLimit", {"max_episode_steps": 7}),
    ("FlattenObservation", {}),
)


class Noisy(gymnasium.ObservationWrapper[Any, Any, Any]):
    """Draws from the environment's generator, as wrappers of Gymnasium's own do."""

    def observation(self, observation: Any) -> Any:
        return observation + self.np_random.normal(size=3).astype(np.float32)


def _local() -> Any:
    env: Any = gymnasium.make("Pendulum-v1")
    for name, kwargs in STACK:
        env = getattr(gymnasium.wrappers, name)(env, **kwargs)
    return env


def _remote(server: Server) -> Any:
    return RemoteEnv(server.target, "Pendulum-v1", wrappers=STACK)


def test_wrappers_on_the_server_do_what_they_do_here(server: Server) -> None:
    remote, local = _remote(server), _local()
    assert remote.action_space == local.action_space
    assert identical(rollout(remote, 30, seed=2), rollout(local, 30, seed=2))
    check_env(remote, skip_render_check=True)  # it reads the generator beneath the wrappers
    remote.close()


def test_a_wrapper_here_draws_from_the_generator_there(server: Server) -> None:
    remote, local = Noisy(_remote(server)), Noisy(_local())
    assert identical(rollout(remote, 30, seed=2), rollout(local, 30, seed=2))
    remote.close()


@pytest.mark.parametrize("force", [True, False])
def test_an_attribute_is_set_where_the_environment_reads_it(server: Server, force: bool) -> None:
    remote, local = _remote(server), _local()
    assert remote.set_wrapper_attr("g", 5.0, force=force)
    local.unwrapped.g = 5.0
    assert identical(rollout(remote, 30, seed=2), rollout(local, 30, seed=2))
    remote.close()


def test_the_registered_id_makes_one_that_can_be_made_again(server: Server) -> None:
    env: Any = gymnasium.make("envwire/Remote-v0", target=server.target, env_id="FrozenLake-v1")
    again = gymnasium.make(env.unwrapped.spec)
    for each in (env, again):
        check_env(each.unwrapped, skip_render_check=True)
        each.close()
