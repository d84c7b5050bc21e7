"""Groups of a farm on the local engine: from no server to some and back, and what is said where that fails."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import gymnasium
import numpy as np
import pytest

from envwire.client import CapacityError, RemoteEnv, RemoteVectorEnv
from envwire.server._auth.scopes import Scope
from tests.commands import envwire
from tests.farm.on_demand import SECONDS, OnDemand, Pole, on_demand
from tests.secured import certificates, write_tokens

FILE = """
sessions_per_process = 64

[groups.pole]
environments = ["CartPole-v1"]
max = 2
idle = 1
max_sessions = 2

[groups.swing]
environments = ["Pendulum-*"]
idle = 1

[groups.broken]
environments = ["Acrobot-v1"]
python = "/nowhere/python"

[groups.crashing]
environments = ["MountainCar-v0"]
imports = ["crashing"]
wait = 20
"""


@pytest.fixture(scope="module")
def farm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OnDemand]:
    folder = tmp_path_factory.mktemp("farm")
    (folder / "farm.toml").write_text(FILE)
    (folder / "crashing.py").write_text("raise RuntimeError('the simulator has no licence')\n")
    scopes = [Scope.PLAY, Scope.OBSERVE, Scope.ADMIN]
    token = write_tokens(folder / "tokens", {"me": scopes})["me"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ENVWIRE_TOKEN", token)
        with on_demand(folder / "farm.toml", "--tokens", str(folder / "tokens")) as running:
            yield running


def test_an_id_that_nobody_serves_yet_is_listed_and_made(farm: OnDemand) -> None:
    assert farm.state("pole") == "STOPPED"
    listed = json.loads(envwire("list", farm.target, "--json").stdout)["environments"]
    assert "CartPole-v1" in [each["id"] for each in listed]
    assert envwire("health", farm.target).stdout.strip() == "SERVING"
    with Pole(farm.target) as pole:
        pole.reset(seed=1)
        assert farm.state("pole") == "SERVING"
        assert farm.groups()["pole"].servers == 1
    farm.until(farm.is_empty)


def test_makes_beyond_one_server_get_a_second_and_then_wait_for_a_slot(farm: OnDemand) -> None:
    with ThreadPoolExecutor(5) as pool:
        making = [pool.submit(RemoteEnv, farm.target, "CartPole-v1") for _ in range(5)]
        farm.until(lambda: sum(each.done() for each in making) == 4)
        farm.until(lambda: farm.groups()["pole"].waiting == 1)
        assert farm.groups()["pole"].servers == 2
        next(each.result() for each in making if each.done()).close()
        made = [each.result(SECONDS) for each in making]
    for env in made:
        env.close()


def test_a_vector_environment_of_a_pattern(farm: OnDemand) -> None:
    envs = RemoteVectorEnv(farm.target, "Pendulum-v1", num_envs=4)
    local = gymnasium.make_vec("Pendulum-v1", num_envs=4, vectorization_mode="sync")
    np.testing.assert_array_equal(envs.reset(seed=3)[0], local.reset(seed=3)[0])
    envs.close()


def test_an_interpreter_that_is_not_there_is_said_at_once(farm: OnDemand) -> None:
    with pytest.raises(CapacityError, match="no interpreter: there is no /nowhere/python"):
        RemoteEnv(farm.target, "Acrobot-v1")
    told = envwire("farm", "groups", farm.target).stdout.splitlines()
    [row] = [line.split("\t") for line in told if line.startswith("broken\t")]
    assert row[7].startswith("no interpreter: there is no /nowhere/python")


def test_a_module_that_fails_is_tried_again_and_its_last_line_is_said(farm: OnDemand) -> None:
    with pytest.raises(CapacityError, match="the simulator has no licence"):
        RemoteEnv(farm.target, "MountainCar-v0")
    assert farm.groups()["crashing"].servers == 0


def test_a_killed_server_is_replaced_for_its_session(farm: OnDemand) -> None:
    with Pole(farm.target, on_lost="replay") as pole:
        pole.reset(seed=5)
        [pid] = farm.pids()
        os.killpg(pid, signal.SIGKILL)
        pole.step(0, 1, 0)
        farm.until(lambda: "killed by SIGKILL" in farm.groups()["pole"].last_error)


def test_orders_of_the_operator(farm: OnDemand) -> None:
    assert envwire("farm", "scale", "pole", "2", "--target", farm.target).returncode == 0
    farm.until(lambda: farm.groups()["pole"].servers == 2)
    assert envwire("farm", "pause", "pole", "--target", farm.target).returncode == 0
    farm.until(lambda: farm.groups()["pole"].servers == 0)
    with pytest.raises(CapacityError, match="the operator paused it"):
        RemoteEnv(farm.target, "CartPole-v1")
    assert envwire("farm", "scale", "pole", "0", "--target", farm.target).returncode == 0
    assert envwire("farm", "resume", "pole", "--target", farm.target).returncode == 0
    RemoteEnv(farm.target, "CartPole-v1").close()
    wrong = envwire("farm", "scale", "pole", "3", "--target", farm.target)
    assert wrong.returncode == 1
    assert "may have 2 servers (max), not 3" in wrong.stderr


def test_who_used_what(farm: OnDemand) -> None:
    RemoteEnv(farm.target, "Pendulum-v1").close()

    def sessions() -> int:
        rows = json.loads(envwire("farm", "usage", farm.target, "--json").stdout).get("usage", [])
        mine = [each for each in rows if each["env_id"] == "Pendulum-v1"]
        assert all(each["principal"] == "token me" for each in mine)
        return sum(int(each["sessions"]) for each in mine)

    farm.until(sessions)
    assert "Pendulum-v1" in envwire("farm", "usage", farm.target).stdout


def test_agents_of_other_machines_reach_it_through_the_gateway(tmp_path: Path) -> None:
    """Its address has a certificate, and its servers stay on loopback."""
    files = certificates()
    ca = str(files.path("ca"))
    token = write_tokens(tmp_path / "tokens", {"ann": [Scope.PLAY, Scope.OBSERVE]})["ann"]
    (tmp_path / "farm.toml").write_text(
        f"""
host = "0.0.0.0"
relay = true
tls_cert = "{files.path("server")}"
tls_key = "{files.path("server-key")}"
join_ca = "{ca}"
tokens = "{tmp_path / "tokens"}"
quota = 1

[groups.pole]
environments = ["CartPole-v1"]
idle = 1
"""
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ENVWIRE_TOKEN", token)
        patch.setenv("ENVWIRE_CA", ca)
        with (
            on_demand(tmp_path / "farm.toml") as farm,
            Pole(farm.target) as pole,
        ):
            pole.reset(seed=1)
            pole.step(1)
            with pytest.raises(CapacityError, match="holds 1 of the 1 sessions"):
                RemoteEnv(farm.target, "CartPole-v1")


def test_a_public_address_needs_a_gateway_that_relays(tmp_path: Path) -> None:
    (tmp_path / "farm.toml").write_text('[groups.pole]\nenvironments = ["CartPole-v1"]\n')
    file = str(tmp_path / "farm.toml")
    done = envwire("farm", "up", "--config", file, "--host", "0.0.0.0", "--insecure")
    assert done.returncode == 2
    assert "give --relay as well" in done.stderr


def round_trip(farm: OnDemand, makes: int) -> None:
    """Makes environments on an empty farm, all at once, and waits until it is empty again."""
    with ThreadPoolExecutor(makes) as pool:
        envs = list(pool.map(lambda _: RemoteEnv(farm.target, "CartPole-v1"), range(makes)))
    for env in envs:
        env.reset(seed=1)
        env.step(1)
        env.close()
    farm.until(farm.is_empty)


MANY = """
sessions_per_process = 64

[groups.pole]
environments = ["CartPole-v1"]
max = {servers}
idle = 1
max_sessions = 8
"""


def test_from_nothing_to_many_and_back(tmp_path: Path) -> None:
    (tmp_path / "farm.toml").write_text(MANY.format(servers=2))
    with on_demand(tmp_path / "farm.toml") as farm:
        round_trip(farm, 16)


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_from_nothing_to_many_and_back_ten_times(tmp_path: Path) -> None:
    (tmp_path / "farm.toml").write_text(MANY.format(servers=8))
    with on_demand(tmp_path / "farm.toml") as farm:
        for _ in range(10):
            round_trip(farm, 64)
