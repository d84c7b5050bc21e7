"""Groups on one server, all with the server's interpreter: their own settings and the shared ones."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from envwire.client import CapacityError, NotAllowedError, RemoteEnv
from envwire.server import Server, ServerError
from tests.conftest import ROOT
from tests.faults.scene import alive, eventually, parent_of

ONE, TWO, OWN = "groups/One-v0", "groups/Two-v0", "CartPole-v1"
GROUPS: dict[str, Any] = {
    "one": {
        "environments": [ONE],
        "imports": ["tests.groups.of_one"],
        "variables": ["COLOUR=red"],
        "gpus": "0,1",
        "max_session_files": 64,
        "max_sessions": 2,
        "allow_wrappers": ["tests.groups.hosted:Marked"],
    },
    "two": {
        "environments": [TWO],
        "imports": ["tests.groups.of_two"],
        "variables": ["COLOUR=blue"],
        "gpus": "none",
        "sessions_per_process": 2,
    },
}
WRAPPERS = ["tests.groups.hosted:Marked"]


def serve(groups: dict[str, Any] = GROUPS, **settings: Any) -> Server:
    return Server([OWN], groups=groups, sys_path=(ROOT,), max_session_files=128, **settings)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serve() as running:
        yield running


def report(server: Server, env_id: str) -> dict[str, Any]:
    with RemoteEnv(server.target, env_id) as env:
        return env.reset()[1]


def test_each_group_has_its_imports_variables_devices_and_limits(server: Server) -> None:
    one, two = report(server, ONE), report(server, TWO)
    assert (one["modules"], two["modules"]) == (["tests.groups.of_one"], ["tests.groups.of_two"])
    assert (one["files"], two["files"]) == (64, 128)
    devices = {"CUDA_VISIBLE_DEVICES": "0,1", "HIP_VISIBLE_DEVICES": "0,1"}
    assert one["variables"] == {"COLOUR": "red", **devices}
    assert two["variables"] == {"COLOUR": "blue", **dict.fromkeys(devices, "-1")}


def test_one_group_packs_its_sessions_and_the_other_does_not(server: Server) -> None:
    for env_id, processes in ((ONE, 2), (TWO, 1)):
        with RemoteEnv(server.target, env_id) as first, RemoteEnv(server.target, env_id) as second:
            assert len({env.reset()[1]["pid"] for env in (first, second)}) == processes


def test_a_wrapper_is_allowed_in_the_group_that_lists_it(server: Server) -> None:
    with RemoteEnv(server.target, ONE, wrappers=WRAPPERS) as env:
        env.reset()
        assert env.step(0)[4] == {"marked": True}
    for env_id in (TWO, OWN):
        with pytest.raises(NotAllowedError):
            RemoteEnv(server.target, env_id, wrappers=WRAPPERS)


def test_a_full_group_leaves_the_others_their_slots(server: Server) -> None:
    envs = [RemoteEnv(server.target, ONE) for _ in range(2)]
    with pytest.raises(CapacityError, match=r"all 2 sessions of group 'one'.*groups\.one"):
        RemoteEnv(server.target, ONE)
    copies = [RemoteEnv(server.target, env_id) for env_id in (TWO, OWN)]
    envs.pop().close()
    assert eventually(lambda: report(server, ONE) != {})
    for env in (*envs, *copies):
        env.close()


def test_a_copy_counts_in_the_group_of_its_source(server: Server) -> None:
    with RemoteEnv(server.target, ONE) as env:
        env.reset()
        with env.fork() as copy:
            assert copy.reset()[1]["variables"]["COLOUR"] == "red"
            with pytest.raises(CapacityError, match="group 'one'"):
                env.fork()


def test_clients_see_one_server(server: Server) -> None:
    with RemoteEnv(server.target, OWN) as env:
        assert env.reset(seed=1)[0].shape == (4,)
    with pytest.raises(Exception, match="did you mean groups/Two-v0"):
        RemoteEnv(server.target, "groups/Twoo-v0")


def test_a_killed_forkserver_spares_the_other_groups_and_comes_back() -> None:
    with serve() as server:
        envs = {env_id: RemoteEnv(server.target, env_id) for env_id in (ONE, TWO)}
        pids = {env_id: env.reset()[1]["pid"] for env_id, env in envs.items()}
        forkservers = {env_id: parent_of(pid) for env_id, pid in pids.items()}
        assert len(set(forkservers.values())) == 2
        for env_id in (ONE, TWO):  # the second one's sessions join those of the first one's
            os.kill(forkservers[env_id], signal.SIGKILL)
            assert eventually(lambda pid=pids[env_id]: parent_of(pid) == server.pid)
            for other, env in envs.items():
                env.step(0)
                assert env.reset()[1]["pid"] == pids[other]
        assert report(server, ONE)["variables"]["COLOUR"] == "red"
        os.kill(pids[ONE], signal.SIGKILL)
        assert eventually(lambda: not alive(pids[ONE]))
        envs[TWO].step(0)
        for env in envs.values():
            env.close()
        assert eventually(lambda: not alive(pids[TWO]))


@pytest.mark.parametrize(
    ("groups", "says"),
    [
        ({"a": {"environments": ["Cart*"]}}, "CartPole-v1 is in environments and in groups.a"),
        (
            {"a": {"environments": ["Acrobot-v1"]}, "b": {"environments": ["Acrobot-*"]}},
            "Acrobot-v1 is in groups.a and in groups.b",
        ),
        ({"a": {"environments": ["No/Such-v0"]}}, "groups.a: .*No/Such-v0"),
        ({"a": {"environments": [ONE], "imports": ["no.such"]}}, "groups.a: .*no.such"),
        (
            {"a": {"environments": [ONE], "python": "/no/python"}},
            "groups.a: /no/python does not run",
        ),
    ],
)
def test_groups_that_cannot_be_served_are_named_at_the_start(
    groups: dict[str, Any], says: str
) -> None:
    with pytest.raises(ServerError, match=says):
        serve(groups).start()
