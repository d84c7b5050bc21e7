"""Groups of a farm have their own imports, variables, devices, limits and wrappers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from envwire.client import NotAllowedError, RemoteEnv
from tests.conftest import ROOT
from tests.farm.on_demand import OnDemand, on_demand

ONE, TWO = "groups/One-v0", "groups/Two-v0"
FILE = f"""
max_session_files = 128

[groups.one]
environments = ["{ONE}"]
imports = ["tests.groups.of_one"]
variables = ["COLOUR=red"]
gpus = "0,1"
max_session_files = 64
allow_wrappers = ["tests.groups.hosted:Marked"]

[groups.two]
environments = ["{TWO}"]
imports = ["tests.groups.of_two"]
variables = ["COLOUR=blue"]
gpus = "none"
sessions_per_process = 2
"""
WRAPPERS = ["tests.groups.hosted:Marked"]


@pytest.fixture(scope="module")
def farm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OnDemand]:
    file = tmp_path_factory.mktemp("farm") / "farm.toml"
    file.write_text(FILE)
    with on_demand(file, PYTHONPATH=ROOT) as running:
        yield running


def report(farm: OnDemand, env_id: str) -> dict[str, Any]:
    with RemoteEnv(farm.target, env_id) as env:
        return env.reset()[1]


def test_each_group_has_its_imports_variables_devices_and_limits(farm: OnDemand) -> None:
    one, two = report(farm, ONE), report(farm, TWO)
    assert (one["modules"], two["modules"]) == (["tests.groups.of_one"], ["tests.groups.of_two"])
    assert (one["files"], two["files"]) == (64, 128)
    devices = {"CUDA_VISIBLE_DEVICES": "0,1", "HIP_VISIBLE_DEVICES": "0,1"}
    assert one["variables"] == {"COLOUR": "red", **devices}
    assert two["variables"] == {"COLOUR": "blue", **dict.fromkeys(devices, "-1")}


def test_one_group_packs_its_sessions_and_the_other_does_not(farm: OnDemand) -> None:
    for env_id, processes in ((ONE, 2), (TWO, 1)):
        with RemoteEnv(farm.target, env_id) as first, RemoteEnv(farm.target, env_id) as second:
            assert len({env.reset()[1]["pid"] for env in (first, second)}) == processes


def test_a_wrapper_is_allowed_in_the_group_that_lists_it(farm: OnDemand) -> None:
    with RemoteEnv(farm.target, ONE, wrappers=WRAPPERS) as env:
        env.reset()
        assert env.step(0)[4] == {"marked": True}
    with pytest.raises(NotAllowedError):
        RemoteEnv(farm.target, TWO, wrappers=WRAPPERS)


def test_agents_see_one_server(farm: OnDemand) -> None:
    with pytest.raises(Exception, match="did you mean groups/Two-v0"):
        RemoteEnv(farm.target, "groups/Twoo-v0")
