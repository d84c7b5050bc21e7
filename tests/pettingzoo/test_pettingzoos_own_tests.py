"""PettingZoo's own tests of environments pass on the proxies."""

from __future__ import annotations

import warnings
from functools import partial

import pytest
from pettingzoo.utils import aec_to_parallel, parallel_to_aec

from tests.pettingzoo.conftest import Remote

with warnings.catch_warnings():  # they import environments in a way that is deprecated
    warnings.simplefilter("ignore")
    from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test, seed_test

PARALLEL = (
    "butterfly/cooperative_pong-v6",
    "butterfly/knights_archers_zombies-v11",
    "butterfly/pistonball-v6",
    "classic/rps-v2",
    "sisl/pursuit-v5",
)
AEC = (
    "butterfly/knights_archers_zombies-v11",
    "classic/chess-v6",
    "classic/connect_four-v3",
    "classic/hanabi-v5",
    "classic/leduc_holdem-v4",
    "classic/rps-v2",
    "classic/tictactoe-v3",
)

pytestmark = pytest.mark.filterwarnings(
    "ignore"
)  # they are about the environments, not the proxies


@pytest.mark.parametrize("env_id", PARALLEL)
def test_parallel(env_id: str, remote: Remote) -> None:
    parallel_api_test(remote("parallel", env_id), num_cycles=30)
    parallel_seed_test(partial(remote, "parallel", env_id), num_cycles=5)


@pytest.mark.parametrize("env_id", AEC)
def test_aec(env_id: str, remote: Remote) -> None:
    api_test(remote("aec", env_id), num_cycles=30)
    seed_test(partial(remote, "aec", env_id), num_cycles=20)


def test_conversions(remote: Remote) -> None:
    parallel_api_test(aec_to_parallel(remote("aec", "classic/rps-v2")), num_cycles=20)
    api_test(parallel_to_aec(remote("parallel", "classic/rps-v2")), num_cycles=20)
