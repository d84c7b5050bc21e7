"""Environments of a module that starts threads when it is imported, as the variable THREADS_AT_IMPORT says."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import envwire.envs as gym

KIND = os.environ.get("THREADS_AT_IMPORT", "none")
ENV = "threads/{}-v0"
os.environ["IMPORTS_OF_THREADS"] = os.environ.get("IMPORTS_OF_THREADS", "") + "x"


def none() -> Callable[[], int]:
    return lambda: 42


def ended() -> Callable[[], int]:
    """A thread that is over before the environment is made."""
    thread = threading.Thread(target=int)
    thread.start()
    thread.join()
    return lambda: 42


def plain() -> Callable[[], int]:
    """A thread that releases a lock when it is asked."""
    asked, lock = threading.Event(), threading.Lock()

    def serve() -> None:
        while asked.wait():
            asked.clear()
            lock.release()

    def ask() -> int:
        asked.set()
        lock.acquire()
        return 42

    lock.acquire()
    threading.Thread(target=serve, daemon=True).start()
    return ask


def pool() -> Callable[[], int]:
    executor = ThreadPoolExecutor(2)
    executor.submit(int).result()
    return lambda: executor.submit(lambda: 42).result()


def openmp() -> Callable[[], int]:
    """A native library's pool, of which Python knows nothing."""
    library = ctypes.CDLL(os.environ["OPENMP_LIBRARY"])
    library.total(42)
    return lambda: int(library.total(42))


WORK: dict[str, Callable[[], Callable[[], int]]] = {
    each.__name__: each for each in (none, ended, plain, pool, openmp)
}
work = WORK[KIND]()


class Threaded(gym.Env[int, int]):
    """The observation is 42, after work in the module's threads."""

    def __init__(self) -> None:
        self.observation_space: Any = gym.spaces.Discrete(100)
        self.action_space: Any = gym.spaces.Discrete(2)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        info = {
            "pid": os.getpid(),
            "interpreter": sys.argv[1] == "session",
            "imports": os.environ["IMPORTS_OF_THREADS"],
        }
        return work(), info

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        return work(), 0.0, False, False, {}


gym.register(ENV.format(KIND), Threaded)
