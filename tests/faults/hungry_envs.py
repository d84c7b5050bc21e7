"""An environment that counts its steps, and exhausts resources on command."""

from __future__ import annotations

import enum
import os
import time
from typing import Any

import numpy as np

import envwire.envs as gym

HUNGRY = "faults/Hungry-v0"


class Appetite(enum.IntEnum):
    """The resource that a step exhausts before it is counted."""

    NOTHING = 0
    MEMORY = 1
    MEMORY_OF_A_LIBRARY = 2
    PROCESSOR = 3
    FILES = 4
    DISK = 5
    TIME = 6


class Hungry(gym.Env[np.ndarray, int]):
    """Observations are `size` times the number of steps, rewards are the actions; infos have process and steps.

    `path` is the file that Appetite.DISK fills.
    """

    def __init__(self, size: int = 1, path: str = "", patience: float = 0.3) -> None:
        self.observation_space = gym.spaces.Box(0, np.inf, (size,), np.float64)
        self._size = size
        self.action_space: Any = gym.spaces.Discrete(len(Appetite))
        self.steps = 0
        self._path = path
        self._patience = patience
        self._kept: list[Any] = []

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.steps = 0
        return self._seen(), {"pid": os.getpid(), "steps": 0}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        appetite = _APPETITES.get(Appetite(action))
        if appetite is not None:
            appetite(self)
        self.steps += 1
        return self._seen(), float(action), False, False, {"steps": self.steps}

    def _seen(self) -> np.ndarray:
        return np.full(self._size, self.steps, np.float64)

    def take_memory(self) -> None:
        while True:
            self._kept.append(np.ones(1 << 20))

    def take_memory_in_a_library(self) -> None:
        try:
            self.take_memory()
        except MemoryError:  # what a simulator in C does when it gets none
            os.write(2, b"terminate called after throwing std::bad_alloc\n")
            os.abort()

    def take_processor(self) -> None:
        while True:
            pass

    def take_files(self) -> None:
        while True:
            self._kept.append(os.open(os.devnull, os.O_RDONLY))

    def take_disk(self) -> None:
        with open(self._path, "wb") as file:
            while True:
                file.write(bytes(65536))

    def take_time(self) -> None:
        time.sleep(self._patience)

    def give_back(self) -> int:
        """Releases the exhausted resources and returns their number."""
        kept, self._kept = self._kept, []
        for each in kept:
            if isinstance(each, int):
                os.close(each)
        return len(kept)

    def limits(self) -> dict[str, Any]:
        """Returns the limits of the process."""
        import resource

        return {
            name: resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))
            for name in ("CORE", "CPU", "DATA", "NOFILE")
        }


_APPETITES = {
    Appetite.MEMORY: Hungry.take_memory,
    Appetite.MEMORY_OF_A_LIBRARY: Hungry.take_memory_in_a_library,
    Appetite.PROCESSOR: Hungry.take_processor,
    Appetite.FILES: Hungry.take_files,
    Appetite.DISK: Hungry.take_disk,
    Appetite.TIME: Hungry.take_time,
}

gym.register(id=HUNGRY, entry_point="tests.faults.hungry_envs:Hungry", disable_env_checker=True)
