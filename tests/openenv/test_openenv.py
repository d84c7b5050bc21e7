"""OpenEnv's own client and validator on the bridge: `make test-openenv` installs them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("openenv", reason="`make test-openenv` installs it")

from openenv.core.generic_client import GenericEnvClient

from envwire.client import RemoteEnv
from tests.bridges.test_openenv_bridge import Bridged

pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(scope="module")
def bridged() -> Iterator[Bridged]:
    one = Bridged(max_sessions=2)
    with one.server:
        yield one


def test_its_client_sees_what_a_remote_env_sees(bridged: Bridged) -> None:
    env = RemoteEnv(bridged.server.target, "CartPole-v1")
    with GenericEnvClient(base_url=bridged.url("CartPole-v1")).sync() as theirs:
        assert theirs.reset(seed=7).observation == {"value": env.reset(seed=7)[0].tolist()}
        done = False
        while not done:
            seen = theirs.step({"value": 1})
            observation, reward, terminated, truncated, _ = env.step(1)
            done = terminated or truncated
            assert seen.observation == {"value": observation.tolist()}
            assert (seen.reward, seen.done) == (reward, done)
    env.close()


def test_its_client_talks_to_an_environment_of_texts(bridged: Bridged) -> None:
    with GenericEnvClient(base_url=bridged.url("tests/Echo-v0")).sync() as theirs:
        theirs.reset()
        seen = theirs.step({"text": "hello", "loudness": [0.5, 0.5]})
        assert (seen.observation, seen.reward) == ({"said": "hello", "length": 5}, 1.0)
        assert theirs.state() == {"episode_id": None, "step_count": 1}


@pytest.mark.parametrize("code", ["FACTORY_ERROR", "CAPACITY_REACHED"])
def test_its_client_gets_its_codes(bridged: Bridged, code: str) -> None:
    env_id = "Nope-v0" if code == "FACTORY_ERROR" else "CartPole-v1"
    held = [RemoteEnv(bridged.server.target, "CartPole-v1") for _ in range(2)]
    try:
        with (
            pytest.raises(RuntimeError, match=code),
            GenericEnvClient(base_url=bridged.url(env_id)).sync() as theirs,
        ):
            theirs.reset()
    finally:
        for env in held:
            env.close()


@pytest.mark.parametrize("path", ["", "/CartPole-v1", "/tests/Echo-v0"])
def test_its_validator_passes(bridged: Bridged, path: str) -> None:
    openenv = Path(sys.executable).with_name("openenv")
    done = subprocess.run(
        [openenv, "validate", "--url", bridged.base + path],
        check=False,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Verdict: PASS" in done.stdout
