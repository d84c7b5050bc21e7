"""An environment that starts processes like a simulator, and loses control of them. Registered on import."""

from __future__ import annotations

import enum
import os
import signal
import subprocess
import sys
import time
from typing import Any

import envwire.envs as gym

_SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]
#: A launcher: starts the simulator in a session of its own and leaves.
_LAUNCH = f"import subprocess; subprocess.Popen({_SLEEP!r}, start_new_session=True)"
#: A simulator that starts another one, both out of reach of signals to a group.
_NEST = f"import subprocess, time; subprocess.Popen({_SLEEP!r}, start_new_session=True); time.sleep(600)"


class Way(enum.IntEnum):
    """The kinds of processes that a reset leaves behind."""

    CHILD = 0
    OWN_SESSION = 1
    LAUNCHED = 2
    NESTED = 3
    GROUP_CHANGED = 4
    SIGIO_IGNORED = 5


class Leaving(gym.Env[int, int]):
    """A reset starts processes in one of the ways; a step of 1 aborts, one of 2 hangs."""

    observation_space = action_space = gym.spaces.Discrete(10)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        way = Way((options or {}).get("way", 0))
        if way is Way.LAUNCHED:
            subprocess.run([sys.executable, "-c", _LAUNCH], check=True)
        elif way is Way.NESTED:
            self._started = subprocess.Popen([sys.executable, "-c", _NEST], start_new_session=True)
        else:
            self._started = subprocess.Popen(_SLEEP, start_new_session=way is Way.OWN_SESSION)
        if way is Way.GROUP_CHANGED:
            os.setpgid(0, _group_of_a_child())
        if way is Way.SIGIO_IGNORED:
            signal.signal(signal.SIGIO, signal.SIG_IGN)
        return 0, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        if action == 1:
            os.abort()
        while action == 2:
            time.sleep(0.1)
        return 0, 0.0, False, False, {}


def _group_of_a_child() -> int:
    """Returns a group that is not this process's own."""
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        os.execv(_SLEEP[0], _SLEEP)
    while os.getpgid(child) != child:
        time.sleep(0.01)
    return child


gym.register(id="tests/Leaving-v0", entry_point=f"{__name__}:Leaving", disable_env_checker=True)
