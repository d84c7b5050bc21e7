"""The client's side of image-test.sh: checks of a server in a container, as an agent sees it.

Usage: image_client.py steps|crash|drain HOST:PORT CONTAINER
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable

from envwire.client import RemoteEnv, ServerUnavailableError, SessionLostError

ENV_ID = "CartPole-v1"
#: Seconds after which an expected event counts as missing.
PATIENCE = 5.0


def take_steps(env: RemoteEnv, count: int) -> None:
    """Takes steps with random actions; after an episode ends, the next one begins."""
    for _ in range(count):
        _, _, terminated, truncated, _ = env.step(env.action_space.sample())
        if terminated or truncated:
            env.reset()


def steps(target: str, _: str) -> None:
    """Takes 100 steps from outside the container."""
    env = RemoteEnv(target, ENV_ID)
    env.action_space.seed(0)
    env.reset(seed=0)
    take_steps(env, 100)
    env.close()


def crash(target: str, container: str) -> None:
    """Kills the process of one session: its client gets an error, another client is not affected."""
    victim = RemoteEnv(target, ENV_ID)
    pid = _last_session_process(container)
    bystander = RemoteEnv(target, ENV_ID)
    for env in (victim, bystander):
        env.reset(seed=0)
    _docker("exec", container, "python", "-c", f"import os; os.kill({pid}, 9)")
    assert "SIGKILL" in _loss(victim), "the client must be told how the process ended"
    take_steps(bystander, 10)
    victim.reset(seed=0)
    take_steps(victim, 10)
    for env in (victim, bystander):
        env.close()


def drain(target: str, container: str) -> None:
    """Stops the container during an episode: the episode goes on, and new sessions are refused."""
    env = RemoteEnv(target, ENV_ID)
    env.reset(seed=0)
    with subprocess.Popen(["docker", "stop", container], stdout=subprocess.DEVNULL) as stopping:
        _wait_until(lambda: _refuses(target), "new sessions are refused")
        take_steps(env, 50)
        env.close()
        assert stopping.wait(PATIENCE) == 0, "docker stop failed"


def _loss(env: RemoteEnv) -> str:
    """Returns the message of the error with which a step reports the loss of its session."""
    try:
        env.step(0)
    except SessionLostError as error:
        return str(error)
    raise AssertionError("the environment's process was killed, and it took a step")


def _refuses(target: str) -> bool:
    try:
        RemoteEnv(target, ENV_ID).close()
    except ServerUnavailableError as error:
        return error.reason == "DRAINING"
    return False


def _last_session_process(container: str) -> int:
    """Returns the number, inside the container, of the process that the server started last."""
    return int(re.findall(r"in process (\d+)", _docker("logs", container))[-1])


def _docker(*arguments: str) -> str:
    done = subprocess.run(
        ["docker", *arguments],
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=30,
    )
    return done.stdout


def _wait_until(happened: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < deadline, f"{PATIENCE:g} s passed before {what}"
        time.sleep(0.05)


SCENARIOS = {"steps": steps, "crash": crash, "drain": drain}

if __name__ == "__main__":
    SCENARIOS[sys.argv[1]](sys.argv[2], sys.argv[3])
