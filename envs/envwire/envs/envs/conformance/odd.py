"""`Conformance/Odd-v0`: features that only an environment in its server's own language can have."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections import OrderedDict
from typing import Any, NamedTuple

from envwire.envs import spaces
from envwire.envs._env import Info, Options
from envwire.envs.core import Env, Wrapper


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
