"""PPO on groups that begin without servers, which are killed and stopped, ends with the undisturbed weights."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.farm.on_demand import OnDemand, on_demand
from tests.farm.training import check_training
from tests.faults.scene import family_of

POLES = """
import envwire.envs as gym
for name in ("one", "two", "three"):
    gym.register(id=f"lab/Pole-{name}-v0", entry_point=gym.spec("CartPole-v1").entry_point, max_episode_steps=500)
"""
GROUP = """
[groups.{name}]
environments = ["lab/Pole-{name}-v0"]
imports = ["poles"]
max = 2
max_sessions = 4
idle = 1
step_timeout = 5
drain_timeout = 1
"""


class Disturber:
    """Kills and stops the servers of a farm."""

    def __init__(self, farm: OnDemand) -> None:
        self._farm = farm

    def kill_servers(self) -> None:
        for pid in self._farm.pids():
            os.killpg(pid, signal.SIGKILL)

    def stop_servers(self) -> None:
        for pid in self._farm.pids():
            for each in family_of(pid):
                os.kill(each, signal.SIGSTOP)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_training_through_losses_ends_with_the_same_weights(tmp_path: Path) -> None:
    (tmp_path / "poles.py").write_text(POLES)
    names = ("one", "two", "three")
    (tmp_path / "farm.toml").write_text("".join(GROUP.format(name=name) for name in names))
    with on_demand(tmp_path / "farm.toml") as farm:
        disturber = Disturber(farm)
        events = {40: disturber.kill_servers, 150: disturber.stop_servers}
        for name in names:
            assert farm.state(name) == "STOPPED"
            check_training(farm.target, events, 2, f"lab/Pole-{name}-v0")
            farm.until(farm.is_empty)
