"""The fork server dies: sessions live on, and the next one is made by another fork server."""

from __future__ import annotations

import os
import signal

import pytest

from envwire.client import RemoteEnv, SessionLostError
from envwire.server import Server
from tests.faults.scene import alive, eventually, family_of, parent_of
from tests.faults.test_processes import FAULTY, start


def test_a_killed_forkserver_is_replaced_and_its_sessions_live_on() -> None:
    with start() as server:
        first = RemoteEnv(server.target, FAULTY)
        pid = first.reset()[1]["pid"]
        forkserver = parent_of(pid)
        assert forkserver != server.pid
        os.kill(forkserver, signal.SIGKILL)
        assert eventually(lambda: not alive(forkserver))
        assert first.step(0)[4] == {"steps": 1}
        second = RemoteEnv(server.target, FAULTY)
        assert parent_of(second.reset()[1]["pid"]) not in {forkserver, parent_of(pid)}
        for env in (first, second):
            env.close()
        assert eventually(lambda: not alive(pid))


def test_what_an_environment_started_dies_with_it(server: Server) -> None:
    env = RemoteEnv(server.target, FAULTY)
    env.reset()
    child = env.get_wrapper_attr("start_child")()
    assert alive(child)
    env.close()
    assert eventually(lambda: not alive(child))


def test_sessions_whose_forkserver_is_gone_are_the_fronts_to_look_after() -> None:
    with start() as server:
        env = RemoteEnv(server.target, FAULTY)
        pid = env.reset()[1]["pid"]
        child = env.get_wrapper_attr("start_child")()
        os.kill(parent_of(pid), signal.SIGKILL)
        assert eventually(lambda: parent_of(pid) == server.pid)
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(SessionLostError, match="SIGKILL"):
            env.step(0)
        assert eventually(lambda: not alive(child))
        assert eventually(lambda: family_of(server.pid) == {server.pid})
