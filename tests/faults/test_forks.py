"""Programs that fork beside gRPC, between steps and during them: nothing hangs, and no step is lost or taken twice."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Iterator

import pytest

from envwire.server import Server
from tests.faults.hungry_envs import HUNGRY
from tests.faults.scene import serve
from tests.tiers import cross

WAYS = ["stream", "unary", "direct"]

BEGINNING = """
import multiprocessing, os, subprocess, sys, threading
from contextlib import closing
from envwire.client import RemoteEnv, SessionClosedError
from tests.faults.hungry_envs import Appetite

target, transport, env_id = sys.argv[1:]

def make(**more):
    return RemoteEnv(target, env_id, transport=transport, **more)

def fork():
    "Forks with a function to call in the child, so that Python does not use vfork."
    # gRPC 1.85 polls a descriptor in the child, and aborts it now and then if that is closed.
    subprocess.run(["true"], preexec_fn=int, close_fds=False, check=True)

def play(steps):
    with closing(make()) as env:
        env.reset(seed=1)
        for step in range(1, steps + 1):
            assert env.step(Appetite.NOTHING)[4] == {"steps": step}
"""

BETWEEN_STEPS = """
with closing(make()) as env:
    env.reset(seed=1)
    for step in range(1, 6):
        fork()
        assert env.step(Appetite.NOTHING)[4] == {"steps": step}
"""

DURING_STEPS = """
failures, over = [], threading.Event()

def go():
    try:
        play(80)
    except BaseException as error:
        failures.append(error)
    over.set()

playing = threading.Thread(target=go)
playing.start()
while not over.wait(0.01):  # without a pause, a busy machine would do nothing but fork
    fork()
playing.join()
assert not failures, failures
"""

DURING_A_SLOW_STEP = """
with closing(make(patience=0.3)) as env:
    env.reset(seed=1)
    answers = []
    thread = threading.Thread(target=lambda: answers.append(env.step(Appetite.TIME)))
    thread.start()
    while thread.is_alive():
        fork()
        thread.join(0.01)
    assert answers[0][4] == {"steps": 1}, "it is served once"
"""

WITH_REQUESTS_UNDER_WAY = """
from envwire.client import RemoteVectorEnv
with closing(RemoteVectorEnv(target, env_id, 4, sessions=4, transport=transport)) as envs:
    envs.reset(seed=1)
    for step in range(1, 4):
        envs.step_async(envs.action_space.sample() * 0)
        fork()
        assert list(envs.step_wait()[4]["steps"]) == [step] * 4
"""

CHILDREN = """
env = make()
env.reset(seed=1)
stop = threading.Event()

def go():
    while not stop.is_set():
        env.step(Appetite.NOTHING)

def child():
    try:
        env.step(Appetite.NOTHING)
    except SessionClosedError:
        pass
    else:
        os._exit(3)
    env.reset(seed=2)
    assert env.step(Appetite.NOTHING)[4] == {"steps": 1}
    env.close()
    play(3)

playing = threading.Thread(target=go)
playing.start()
children = [multiprocessing.get_context("fork").Process(target=child) for _ in range(3)]
for each in children:
    each.start()
for each in children:
    each.join()
stop.set()
playing.join()
env.close()
assert [each.exitcode for each in children] == [0, 0, 0]
"""

BODIES = {
    "during steps": DURING_STEPS,
    "between steps": BETWEEN_STEPS,
    "during a slow step": DURING_A_SLOW_STEP,
    "with requests under way": WITH_REQUESTS_UNDER_WAY,
    "children": CHILDREN,
}


@pytest.fixture(scope="module")
def hungry() -> Iterator[Server]:
    with serve() as server:
        yield server


@pytest.mark.parametrize(("body", "transport"), cross(BODIES, WAYS))
def test_a_program_that_forks_hangs_nowhere(hungry: Server, transport: str, body: str) -> None:
    run(hungry, transport, body)


def run(server: Server, transport: str, body: str) -> None:
    program = textwrap.dedent(BEGINNING) + body
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, server.target, transport, HUNGRY],
        timeout=200,
        check=True,
    )
