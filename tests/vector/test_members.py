"""What else a remote vector environment has: attributes, methods, generators, frames; its layout, and its end."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from envwire.client import CapacityError, InvalidRequestError, SessionClosedError
from envwire.client._transports.by_name import open_transport
from envwire.client._transports.transport import call
from envwire.client._vector.layout import Capacity, lay_out
from envwire.server import InProcessTransport, Server
from envwire.testing.comparing import identical
from envwire.v1 import environment_pb2 as pb
from tests.vector.conftest import BEHIND_ANY_GUARD, HOSTED, SETTINGS
from tests.vector.faces import FAMILIES, Family

pytestmark = pytest.mark.filterwarnings("default")

FAMILY = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)


def _info(server: Server) -> pb.GetServerInfoResponse:
    transport = open_transport("unary", server.target, 10.0)
    request = pb.InteractRequest(get_server_info=pb.GetServerInfoRequest())
    info = call(transport, request, 10.0).get_server_info
    transport.close()
    return info


def _sessions(server: Server) -> int:
    return _info(server).active_sessions


QUESTIONS: list[Callable[[Any], Any]] = [
    lambda env: env.get_attr("level"),
    lambda env: env.call("add", 4, right=2),
    lambda env: env.get_attr("render"),
    lambda env: env.render(),
    lambda env: env.np_random_seed,
    lambda env: tuple(each.bit_generator.state for each in env.get_attr("np_random")),
    lambda env: tuple(generator.random() for generator in env.np_random),
    lambda env: env.set_attr("level", 9) or env.get_attr("level"),
]


@BEHIND_ANY_GUARD
@FAMILY
@pytest.mark.parametrize("sessions", [1, 2])
def test_attributes_methods_generators_and_frames(
    vector_server: Server, family: Family, sessions: int
) -> None:
    remote = family.remote(
        vector_server.target, "vectors/Moody-v0", 3, sessions=sessions, render_mode="ansi"
    )
    local = family.local("vectors/Moody-v0", 3, render_mode="ansi")
    for env in (remote, local):
        env.reset(seed=8)
        env.set_attr("level", [1, 2, 3])
    for ask in QUESTIONS:
        assert identical(ask(remote), ask(local))
    for env in (remote, local):
        with pytest.raises(AttributeError):
            env.get_attr("nothing_like_it")
        with pytest.raises(ValueError, match="values"):
            env.set_attr("level", [1, 2])
        env.close()


def test_a_native_vector_environment_has_its_attributes_once(vector_server: Server) -> None:
    family = FAMILIES["envwire"]
    native = {"vectorization_mode": "vector_entry_point"}
    env = family.remote(vector_server.target, "CartPole-v1", 4, sessions=1, **native)
    env.reset(seed=3)
    local = family.library.make_vec("CartPole-v1", 4)
    local.reset(seed=3)
    env.set_attr("gravity", 5.0)
    assert env.get_attr("gravity") == 5.0
    assert env.np_random.random() == local.np_random.random()
    assert env.get_attr("np_random").random() == env.np_random.random()
    assert env.np_random_seed == 3
    env.close()
    with pytest.raises(InvalidRequestError, match="SAME_STEP"):
        family.remote(vector_server.target, "CartPole-v1", 4, autoreset_mode="SAME_STEP", **native)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"autoreset_mode": "LATER"}, ValueError),
        ({"vectorization_mode": "async"}, InvalidRequestError),
        ({"render_mode": "human"}, InvalidRequestError),
        ({"on_lost": "ignore"}, ValueError),
        ({"sessions": 5}, ValueError),
        ({"sessions": 2, "batch_size": 3}, ValueError),
        ({"num_envs": 1101, "sessions": 1}, CapacityError),
        ({"num_envs": 0}, ValueError),
    ],
    ids=str,
)
def test_what_cannot_be_made(
    vector_server: Server, arguments: dict[str, Any], error: type[Exception]
) -> None:
    before = _sessions(vector_server)
    with pytest.raises(error):
        FAMILIES["envwire"].remote(
            vector_server.target, "CartPole-v1", **{"num_envs": 4, **arguments}
        )
    assert _sessions(vector_server) == before


def test_an_open_transport_takes_one_session() -> None:
    transport = InProcessTransport(HOSTED, imports=SETTINGS["imports"])
    make = FAMILIES["envwire"].remote
    with pytest.raises(ValueError, match="one session"):
        make(None, "CartPole-v1", 4, transport=transport, sessions=2)


@pytest.mark.parametrize(
    ("num_envs", "sessions", "batch", "processors", "limit", "expected"),
    [
        (5, 2, 5, (1,), 0, [(0, 0, 3), (0, 3, 5)]),
        (2, None, 2, (8,), 0, [(0, 0, 1), (0, 1, 2)]),
        (6, None, 6, (1, 2), 0, [(0, 0, 2), (1, 2, 4), (1, 4, 6)]),
        (2, None, 2, (1, 7), 0, [(0, 0, 1), (1, 1, 2)]),
        (10, None, 10, (1,), 4, [(0, 0, 4), (0, 4, 7), (0, 7, 10)]),
        (6, None, 2, (2,), 0, [(0, 0, 2), (0, 2, 4), (0, 4, 6)]),
    ],
)
def test_layout(
    num_envs: int, sessions: Any, batch: int, processors: Any, limit: int, expected: Any
) -> None:
    capacities = [Capacity(count, limit) for count in processors]
    assert lay_out(num_envs, sessions, batch, capacities) == expected


@pytest.mark.parametrize(("num_envs", "batch"), [(0, 0), (-1, -1), (2, -1), (2, 5)])
def test_there_is_an_environment_and_one_in_each_batch(num_envs: int, batch: int) -> None:
    with pytest.raises(ValueError, match="num_envs"):
        lay_out(num_envs, None, batch, [Capacity(1, 0)])


def test_sessions_by_default_are_the_servers_processors(vector_server: Server) -> None:
    before = _sessions(vector_server)
    env = FAMILIES["envwire"].remote(vector_server.target, "tests/Wavering-v0", 64)
    assert _sessions(vector_server) - before == min(64, _info(vector_server).cpu_count)
    assert _info(vector_server).max_envs_per_session == SETTINGS["max_envs_per_session"]
    env.close()


@BEHIND_ANY_GUARD
@FAMILY
def test_two_targets(vector_server: Server, second_server: Server, family: Family) -> None:
    servers = (vector_server, second_server)
    before = [_sessions(server) for server in servers]
    targets = [server.target for server in servers]
    remote = family.remote(targets, "FrozenLake-v1", 5, sessions=3)
    assert [_sessions(server) for server in servers] == [before[0] + 2, before[1] + 1]
    local = family.local("FrozenLake-v1", 5)
    assert identical(remote.reset(seed=3), local.reset(seed=3))
    actions = np.array([1, 2, 1, 2, 3])
    assert identical(remote.step(actions), local.step(actions))
    remote.close()
    assert [_sessions(server) for server in servers] == before


def test_environments_that_do_not_go_together(vector_server: Server) -> None:
    settings: dict[str, Any] = {**SETTINGS, "imports": ["tests.vector.other"]}
    with Server(["vectors/*"], **settings) as other:
        targets = [vector_server.target, other.target]
        before = _sessions(vector_server)
        with pytest.raises(RuntimeError, match="other spaces"):
            FAMILIES["envwire"].remote(targets, "vectors/Gated-v0", 2)
        assert _sessions(vector_server) == before


@FAMILY
def test_the_end(vector_server: Server, family: Family) -> None:
    before = _sessions(vector_server)
    env = family.remote(vector_server.target, "CartPole-v1", 4, sessions=2)
    first = env.reset(seed=1)[0]
    env.close()
    env.close()
    assert env.closed
    assert _sessions(vector_server) == before
    with pytest.raises(SessionClosedError, match="closed"):
        env.step(np.zeros(4, np.int64))
    assert identical(env.reset(seed=1)[0], first)
    assert not env.closed
    env.step_async(np.zeros(4, np.int64))  # nobody waits for it
    env.close()
    assert _sessions(vector_server) == before
    with pytest.raises(TypeError, match="pickle"):
        env.__reduce__()


def test_halves_come_in_turn(vector_server: Server) -> None:
    family = FAMILIES["envwire"]
    error = family.library.error
    env = family.remote(vector_server.target, "CartPole-v1", 4, sessions=2)
    env.reset(seed=1)
    actions = np.zeros(4, np.int64)
    with pytest.raises(error.NoAsyncCallError):
        env.step_wait()
    env.step_async(actions)
    for call_too_early in (
        lambda: env.step_async(actions),
        env.reset,
        lambda: env.get_attr("gravity"),
        lambda: env.send(actions),
    ):
        with pytest.raises(error.AlreadyPendingCallError):
            call_too_early()
    assert env.step_wait()[1].tolist() == [1.0] * 4
    for wrong in (actions[:3], np.zeros(5, np.int64)):
        with pytest.raises(ValueError, match="actions"):
            env.step(wrong)
    assert env.step(actions)[1].tolist() == [1.0] * 4
    with pytest.raises(InvalidRequestError):  # found out when the first half is on its way
        env.step([0, 0, 0, object()])
    assert env.step(actions)[1].tolist() == [1.0] * 4
    env.close()


def test_an_environment_that_nobody_closed(vector_server: Server) -> None:
    before = _sessions(vector_server)
    env = FAMILIES["envwire"].remote(vector_server.target, "CartPole-v1", 4, sessions=2)
    env.reset()
    del env
    gc.collect()
    while _sessions(vector_server) > before:  # the test's timeout is the deadline
        pass


PROGRAM = """
import os, sys
import numpy as np
from envwire.client import RemoteVectorEnv, SessionClosedError

env = RemoteVectorEnv(sys.argv[1], "CartPole-v1", 4, sessions=2)
first = env.reset(seed=3)[0]
pid = os.fork()
if pid == 0:
    try:
        env.step(np.zeros(4, np.int64))
    except SessionClosedError:
        same = np.array_equal(env.reset(seed=3)[0], first)
        env.close()
        os._exit(0 if same else 1)
    os._exit(2)
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
env.step(np.zeros(4, np.int64))
env.step_async(np.zeros(4, np.int64))
print("child", status)
"""


@BEHIND_ANY_GUARD
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_forks_and_the_end_of_the_program(vector_server: Server) -> None:
    before = _sessions(vector_server)
    program = [sys.executable, "-c", PROGRAM, vector_server.target]
    done = subprocess.run(program, check=False, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.returncode) == ("child 0\n", 0), done.stderr
    assert "Traceback" not in done.stderr
    while _sessions(vector_server) > before:  # the test's timeout is the deadline
        pass
