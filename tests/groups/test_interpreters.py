"""Groups of a farm whose interpreters have conflicting packages; `make test-groups` installs these."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from envwire.client import RemoteEnv, RemoteVectorEnv
from envwire.client._transports.by_name import open_transport
from envwire.client._transports.transport import call
from envwire.client.gymnasium import RemoteEnv as GymnasiumEnv
from envwire.server import Server, ServerError
from envwire.v1 import environment_pb2 as pb
from tests.commands import envwire
from tests.conftest import ROOT
from tests.farm.on_demand import OnDemand, on_demand
from tests.faults.scene import alive, eventually, parent_of
from tests.groups.of_versions import NEW, OLD
from tests.groups.rollout import digest

pytestmark = pytest.mark.long
MADE = Path(ROOT, ".venv-groups")
#: numpy 1.26.4, gymnasium 0.29.1 and protobuf 6.31.1; and one with protobuf 5.
LEGACY, TOO_OLD = MADE / "legacy", MADE / "protobuf5"
IMPORTS = ["tests.groups.of_versions"]
FILE = f"""
imports = {IMPORTS}

[groups.legacy]
environments = ["{OLD}", "CartPole-v1"]
python = "{LEGACY}/bin/python"
variables = ["PYTHONPATH={ROOT}"]
warm = ["{OLD}=1"]

[groups.new]
environments = ["{NEW}"]
"""


@pytest.fixture(scope="module")
def farm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OnDemand]:
    file = tmp_path_factory.mktemp("farm") / "farm.toml"
    file.write_text(FILE)
    with on_demand(file, PYTHONPATH=ROOT) as running:
        yield running


def report(farm: OnDemand, env_id: str) -> dict[str, Any]:
    with RemoteEnv(farm.target, env_id) as env:
        return env.reset()[1]


def test_versions_differ_behind_one_address(farm: OnDemand) -> None:
    old, new = report(farm, OLD), report(farm, NEW)
    assert (old["numpy"], old["gymnasium"], old["protobuf"]) == ("1.26.4", "0.29.1", "6.31.1")
    assert new["numpy"] == np.__version__ != old["numpy"]
    assert new["gymnasium"] != old["gymnasium"]
    assert old["prefix"] == str(LEGACY) != new["prefix"]


def test_clients_are_told_of_groups_and_versions(farm: OnDemand) -> None:
    for env_id in (OLD, NEW):
        report(farm, env_id)
    groups, ids = described(farm)
    assert groups["gymnasium", "legacy"] == "0.29.1" != groups["gymnasium", "new"]
    assert (ids[OLD], ids[NEW]) == ("legacy", "new")
    assert "gymnasium 0.29.1 (group legacy)" in envwire("doctor", farm.target).stdout


def described(farm: OnDemand) -> tuple[dict[tuple[str, str], str], dict[str, str]]:
    """Returns the versions of libraries by group, and the groups of ids."""
    transport = open_transport("unary", farm.target, 10.0)
    try:
        info = call(transport, pb.InteractRequest(get_server_info=pb.GetServerInfoRequest()), 10.0)
        listed = call(
            transport, pb.InteractRequest(list_environments=pb.ListEnvironmentsRequest()), 10.0
        )
    finally:
        transport.close()
    libraries = info.get_server_info.libraries
    return {(each.name, each.group): each.version for each in libraries}, {
        each.spec.id: each.group for each in listed.list_environments.environments
    }


def test_the_processes_need_no_package_but_numpy_and_protobuf(farm: OnDemand) -> None:
    of_gymnasium = {"gymnasium", "cloudpickle", "farama_notifications", "typing_extensions"}
    of_venv = {"_distutils_hack"}
    found = set(report(farm, OLD)["packages"]) - of_gymnasium - of_venv
    assert found == {"numpy", "google"}


def test_a_rollout_is_bit_equal_to_a_local_one_in_that_interpreter(farm: OnDemand) -> None:
    with GymnasiumEnv(farm.target, "CartPole-v1") as env:
        assert env.spec is not None
        remote = digest(env)
    command = [LEGACY / "bin/python", Path(ROOT, "tests/groups/rollout.py"), "CartPole-v1"]
    local = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    assert remote == local.strip()


def test_a_killed_forkserver_comes_back_in_its_interpreter(farm: OnDemand) -> None:
    with RemoteEnv(farm.target, OLD) as old, RemoteEnv(farm.target, NEW) as new:
        pids = [env.reset()[1]["pid"] for env in (old, new)]
        forkserver = parent_of(pids[0])
        assert forkserver != parent_of(pids[1])
        os.kill(forkserver, signal.SIGKILL)
        assert eventually(lambda: not alive(forkserver))
        for env, pid in zip((old, new), pids, strict=True):
            env.step(0)
            assert env.reset()[1]["pid"] == pid
        assert eventually(lambda: report(farm, OLD)["numpy"] == "1.26.4")


def test_protobuf_that_is_too_old_is_refused_by_name() -> None:
    python = str(TOO_OLD / "bin/python")
    says = f"{python} has protobuf 5.29.5; environments need protobuf 6.31.1 or newer"
    with pytest.raises(ServerError, match=says):
        Server(["CartPole-v1"], python=python).start()


def test_vectors_need_a_newer_gymnasium_there(farm: OnDemand) -> None:
    envs = RemoteVectorEnv(farm.target, "CartPole-v1", num_envs=2)  # envwire's own
    assert envs.reset(seed=1)[0].shape == (2, 4)
    envs.close()
    with pytest.raises(Exception, match=r"need version 1\.1 or later"):
        RemoteVectorEnv(farm.target, OLD, num_envs=2)
