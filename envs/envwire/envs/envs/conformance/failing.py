"""Environments that servers have to bear: they raise, sleep, end their process, start others, or use own classes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections import OrderedDict
from typing import Any, NamedTuple

from envwire.envs import spaces
from envwire.envs._env import Info, Options
from envwire.envs.core import Env, Wrapper

#: What an action or an option can ask `RaiseEnv` to raise.
_RAISED = {kind.__name__: kind for kind in (ValueError, KeyError, RuntimeError, ZeroDivisionError)}


class _FailingEnv(Env[Any, Any]):
    """Spaces and reset of the environments below, whose observation is 0."""

    observation_space = spaces.Discrete(2)
    action_space: spaces.Space[Any] = spaces.Discrete(2)

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[Any, Info]:
        super().reset(seed=seed, options=options)
        return 0, {}


class RaiseEnv(_FailingEnv):
    """``Conformance/Raise-v0``: raises the exception that an action names, such as ``"ValueError"``.

    The exception has the arguments ``("asked for it", 7)``. The action ``"object"`` returns an observation without a
    wire form, ``"opaque"`` one in the info. The option ``"raise"`` names the exception of a reset, ``"raise_in_close"``
    that of `close`.
    """

    action_space = spaces.Text(20)
    _raise_in_close: str = ""

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[Any, Info]:
        """Raises what the options name."""
        asked = options or {}
        self._raise_in_close = asked.get("raise_in_close", "")
        _raise(asked.get("raise", ""))
        return super().reset(seed=seed)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, Info]:
        """Raises what the action names."""
        _raise(action)
        observation = object() if action == "object" else 0
        return observation, 0.0, False, False, {"it": object()} if action == "opaque" else {}

    def close(self) -> None:
        """Raises what the options of the last reset named."""
        _raise(self._raise_in_close)


def _raise(name: Any) -> None:
    if kind := _RAISED.get(name):
        raise kind("asked for it", 7)


class SlowEnv(_FailingEnv):
    """``Conformance/Slow-v0``: a step takes as many seconds as its action. An observation counts steps.

    Args:
        render_mode: None.
        seconds: How long it takes to make the environment.
    """

    _steps = 0

    def __init__(self, render_mode: str | None = None, seconds: float = 0.0) -> None:
        super().__init__(render_mode)
        time.sleep(seconds)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, Info]:
        """Sleeps."""
        time.sleep(float(action))
        self._steps += 1
        return self._steps, 0.0, False, False, {}


class CrashEnv(_FailingEnv):
    """``Conformance/Crash-v0``: the action 1 prints "leaving" and ends the process with status 7."""

    def step(self, action: Any) -> tuple[Any, float, bool, bool, Info]:
        """Ends the process, or does nothing."""
        if action == 1:
            print("leaving", file=sys.stderr, flush=True)
            os._exit(7)
        return 0, 0.0, False, False, {}


class Pair(NamedTuple):
    """An observation: a named tuple."""

    steps: int
    text: str


class _OddSpace(spaces.Space[Any]):
    """A space of a class that has no wire form."""


class OddEnv(Env[Pair, Any]):
    """An observation is a `Pair` of the steps and ``"odd"``; ``info`` is an `OrderedDict`.

    Args:
        render_mode: Ignored.
        seconds: How long the constructor takes.
        starts: ``"thread"`` or ``"process"``: what the constructor starts and keeps until the environment is closed.
        odd_space: Whether its observation space has a class of its own.
    """

    action_space = spaces.Discrete(2)

    def __init__(
        self,
        render_mode: str | None = None,
        seconds: float = 0.0,
        starts: str = "",
        odd_space: bool = False,
    ) -> None:
        time.sleep(seconds)
        self.render_mode = render_mode
        self.observation_space: spaces.Space[Any] = (
            _OddSpace() if odd_space else spaces.Tuple((spaces.Discrete(1000), spaces.Text(3)))
        )
        self._steps = 0
        self._closed = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        if starts == "thread":
            threading.Thread(target=self._closed.wait, daemon=True).start()
        elif starts == "process":
            waits = [sys.executable, "-c", "import sys; sys.stdin.read()"]
            self._process = subprocess.Popen(waits, stdin=subprocess.PIPE)  # noqa: S603 - our own interpreter

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[Pair, Info]:
        """Counts from 0 again."""
        super().reset(seed=seed, options=options)
        self._steps = 0
        return Pair(self._steps, "odd"), OrderedDict(first=1, second=2)

    def step(self, action: Any) -> tuple[Pair, float, bool, bool, Info]:
        """Counts."""
        del action
        self._steps += 1
        return Pair(self._steps, "odd"), 0.0, False, False, OrderedDict()

    def close(self) -> None:
        """Ends what was started."""
        self._closed.set()
        if self._process is not None:
            self._process.communicate()


class Unnoted(Wrapper[Pair, Any, Pair, Any]):
    """A wrapper that changes nothing and does not record its arguments."""


def odd(**kwargs: Any) -> Unnoted:
    """Makes an `OddEnv` with a wrapper around it."""
    return Unnoted(OddEnv(**kwargs))
