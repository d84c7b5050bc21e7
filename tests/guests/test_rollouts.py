"""Environments of six families, hosted: their results equal those of local ones, bit for bit.

A family whose package is missing is skipped; `make test-guests` has them all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import gymnasium
import pytest
from gymnasium.wrappers import AtariPreprocessing

from envwire.client.gymnasium import RemoteEnv
from envwire.server import Server
from envwire.testing.comparing import identical

pytestmark = pytest.mark.filterwarnings("default")


Wrappers = tuple[tuple[str, dict[str, Any]], ...]


@dataclass(frozen=True)
class Guests:
    """A family of environments.

    Attributes:
        package: The module that it needs, and that registers it unless Gymnasium did.
        cases: Its ids with their arguments.
        wrappers: Gymnasium's wrappers to put around each, on the server or here.
    """

    package: str
    cases: tuple[tuple[str, dict[str, Any]], ...]
    wrappers: Wrappers = ()

    @property
    def imports(self) -> tuple[str, ...]:
        """The modules that a server has to import for it."""
        return () if self.package in _OF_GYMNASIUM else (self.package,)


STEPS = 1000
_OF_GYMNASIUM = {"gymnasium", "Box2D", "mujoco"}


def _plain(*ids: str) -> tuple[tuple[str, dict[str, Any]], ...]:
    return tuple((env_id, {}) for env_id in ids)


def _newest(name: str) -> str:
    """Returns the newest registered version: Gymnasium raises the number of toy text ones now and then."""
    specs = (spec for spec in gymnasium.registry.values() if spec.name == name)
    return max(specs, key=lambda spec: spec.version or 0).id


FAMILIES = {
    "classic control": Guests(
        "gymnasium",
        _plain(
            "CartPole-v1",
            "Pendulum-v1",
            "Acrobot-v1",
            "MountainCar-v0",
            "MountainCarContinuous-v0",
        ),
    ),
    "toy text": Guests(
        "gymnasium",
        (
            *_plain("FrozenLake-v1", "FrozenLake8x8-v1", "Blackjack-v1"),
            *_plain(_newest("Taxi"), _newest("CliffWalking")),
        ),
    ),
    "box2d": Guests(
        "Box2D",
        (
            ("LunarLander-v3", {}),
            ("LunarLander-v3", {"continuous": True, "enable_wind": True}),
            ("BipedalWalker-v3", {}),
            ("BipedalWalkerHardcore-v3", {}),
        ),
    ),
    "mujoco": Guests(
        "mujoco",
        _plain(
            "HalfCheetah-v5",
            "Hopper-v5",
            "Walker2d-v5",
            "Ant-v5",
            "Swimmer-v5",
            "InvertedPendulum-v5",
            "InvertedDoublePendulum-v5",
            "Reacher-v5",
            "Pusher-v5",
            "Humanoid-v5",
        ),
    ),
    "ale": Guests(
        "ale_py",
        (
            ("ALE/Breakout-v5", {}),
            ("ALE/Pong-v5", {"obs_type": "ram", "frameskip": (2, 5)}),
            ("ALE/SpaceInvaders-v5", {"obs_type": "grayscale"}),
        ),
    ),
    "minigrid": Guests(
        "minigrid",
        _plain(
            "MiniGrid-Empty-Random-5x5-v0",
            "MiniGrid-DoorKey-5x5-v0",
            "MiniGrid-Fetch-6x6-N2-v0",
        ),
        # The mission is in a space of MiniGrid's own, which no client could build.
        wrappers=(("FilterObservation", {"filter_keys": ["image", "direction"]}),),
    ),
}
CASES = [
    pytest.param(family, env_id, kwargs, id="-".join([env_id, *kwargs]))
    for family, guests in FAMILIES.items()
    for env_id, kwargs in guests.cases
]


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Server]]:
    """The servers by family, each started when it is first asked for."""
    servers: dict[str, Server] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("guests"))  # MuJoCo leaves a log where it runs
        yield servers
    for running in servers.values():
        running.stop()


def _host(hosts: dict[str, Server], family: str) -> Server:
    guests = FAMILIES[family]
    pytest.importorskip(guests.package, reason=f"the package of {family} is not installed")
    if family not in hosts:
        ids = {env_id for env_id, _ in guests.cases}
        hosts[family] = Server(sorted(ids), imports=guests.imports).start()
    return hosts[family]


def _local(env_id: str, kwargs: dict[str, Any], wrappers: Wrappers) -> Any:
    env = gymnasium.make(env_id, **kwargs)
    for name, wrapper_kwargs in wrappers:
        env = getattr(gymnasium.wrappers, name)(env, **wrapper_kwargs)
    return env


def _check_rollout(remote: Any, local: Any, seed: int) -> None:
    for env in (remote, local):
        env.action_space.seed(seed)
    assert identical(remote.reset(seed=seed), local.reset(seed=seed)), "reset"
    for step in range(STEPS):
        action = local.action_space.sample()
        assert identical(remote.action_space.sample(), action), f"action {step}"
        mine, theirs = remote.step(action), local.step(action)
        assert identical(mine, theirs), f"step {step}: {mine} is not {theirs}"
        if theirs[2] or theirs[3]:
            assert identical(remote.reset(), local.reset()), f"reset after step {step}"


@pytest.mark.parametrize("seed", [0, 20_261])
@pytest.mark.parametrize(("family", "env_id", "kwargs"), CASES)
def test_rollouts_equal_the_local_ones(
    hosts: dict[str, Server], family: str, env_id: str, kwargs: dict[str, Any], seed: int
) -> None:
    _check_equal(_host(hosts, family), env_id, kwargs, FAMILIES[family].wrappers, seed)


def _check_equal(
    server: Server, env_id: str, kwargs: dict[str, Any], wrappers: Wrappers, seed: int
) -> None:
    local = _local(env_id, kwargs, wrappers)
    remote = RemoteEnv(server.target, env_id, wrappers=wrappers, **kwargs)
    assert remote.action_space == local.action_space
    assert remote.observation_space == local.observation_space
    _check_rollout(remote, local, seed)
    remote.close()
    local.close()


def test_a_wrapper_that_needs_the_emulator(hosts: dict[str, Server]) -> None:
    pytest.importorskip("cv2", reason="AtariPreprocessing needs opencv-python-headless")
    wrappers: Wrappers = (("AtariPreprocessing", {"terminal_on_life_loss": True}),)
    for game in ("ALE/Breakout-v5", "ALE/Pong-v5"):
        _check_equal(_host(hosts, "ale"), game, {"frameskip": 1}, wrappers, seed=1)


def test_a_wrapper_here_that_needs_the_emulator_says_where_to_use_it(
    hosts: dict[str, Server],
) -> None:
    pytest.importorskip("cv2", reason="AtariPreprocessing needs opencv-python-headless")
    server = _host(hosts, "ale")
    remote = RemoteEnv(server.target, "ALE/Pong-v5", frameskip=1)
    assert remote.unwrapped._frameskip == 1
    preprocessed = AtariPreprocessing(remote)  # reads private attributes
    with pytest.raises(AttributeError, match=r"stayed on the server.*'lives'.*wrappers="):
        preprocessed.reset()
    preprocessed.close()
