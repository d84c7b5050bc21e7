"""Programs that fork with a direct channel open: the connection stays the parent's, and ends with it."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

from envwire.server import Server
from tests.direct.hosted_frames import FRAMES
from tests.faults.scene import active, alive, eventually

kinds = pytest.mark.parametrize("kind", ["direct-tcp", "direct-unix"])

PROGRAM = """
import os, sys, time
import numpy as np
from envwire.client import RemoteEnv, SessionClosedError
target, kind, env_id = sys.argv[1:4]

def make(lease=None):
    return RemoteEnv(target, env_id, transport=kind, shape=(300, 300), lease=lease)

def wait_for(child):
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""

TOUCHES_NOTHING = """
env, twin = make(), make()
observation, _ = env.reset(seed=1)
assert np.array_equal(observation, twin.reset(seed=1)[0])
kept = observation.copy()
child = os.fork()
if child == 0:
    try:
        env.step(0)
    except SessionClosedError:
        pass
    else:
        os._exit(3)
    assert np.array_equal(observation, kept)
    del observation
    first, info = env.reset(seed=9)
    env.step(0)
    env.close()
    os._exit(0)
wait_for(child)
assert np.array_equal(observation, kept)
for action in (0, 1, 2, 3) * 4:
    mine, other = env.step(action), twin.step(action)
    assert mine[1] == other[1] and np.array_equal(mine[0], other[0])
    assert np.array_equal(observation, kept), "the child gave nothing of the parent's back"
env.close()
twin.close()
"""

DIES_FIRST = """
env = make(lease=0.5)
pid = env.reset()[1]["pid"]
child = os.fork()
if child == 0:
    time.sleep(60)
    os._exit(0)
print(pid, child, flush=True)
os.kill(os.getpid(), 9)
"""


def program(server: Server, kind: str, body: str) -> list[str]:
    source = textwrap.dedent(PROGRAM) + body
    return [sys.executable, "-c", source, server.target, kind, FRAMES]


@kinds
def test_a_child_touches_nothing_of_its_parents(direct: Server, kind: str) -> None:
    subprocess.run(program(direct, kind, TOUCHES_NOTHING), timeout=200, check=True)


@kinds
def test_a_parents_death_is_noticed_although_its_child_lives(direct: Server, kind: str) -> None:
    assert eventually(lambda: active(direct.target) == 0)
    with subprocess.Popen(
        program(direct, kind, DIES_FIRST), stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout
        pid, child = map(int, parent.stdout.readline().split())
        parent.wait(60.0)
        try:
            assert eventually(lambda: active(direct.target) == 0 and not alive(pid))
            assert alive(child)
        finally:
            subprocess.run(["kill", "-9", str(child)], check=True)
