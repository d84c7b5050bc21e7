"""The worker process of `AsyncVectorEnv`, which runs one sub-environment."""

from __future__ import annotations

import contextlib
import pickle
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from typing import Any

from envwire.envs._generic import Info
from envwire.envs.core import Env
from envwire.envs.vector.sub_environments import STEPPERS, ObservationMode, check_spaces
from envwire.envs.vector.utils import write_to_shared_memory
from envwire.envs.vector.vector_env import AutoresetMode


class RemoteTraceback(Exception):  # noqa: N818 - not an error by itself
    """The traceback of an exception in a worker, as text."""


class Worker:
    """One sub-environment and the commands of `AsyncVectorEnv`, one method each."""

    def __init__(
        self, index: int, env: Env, memory: Any, mode: AutoresetMode, turn: Any = None
    ) -> None:
        self._index = index
        self._env = env
        self._memory = memory
        self._step = STEPPERS[mode]
        #: With autoreset disabled the caller handles ended episodes, as in Gymnasium.
        self._resets_late = mode is AutoresetMode.NEXT_STEP
        #: Held while the environment works, if not all of them may work at once.
        self._turn: AbstractContextManager[Any] = turn or contextlib.nullcontext()
        self._ended = False
        self._observation: Any = None

    def reset(self, seed: int | None, options: dict[str, Any] | None) -> tuple[Any, Info]:
        """Resets; returns the observation, unless it is in the shared memory, and the info."""
        with self._turn:
            observation, info = self._env.reset(seed=seed, options=options)
        self._ended = False
        return self._show(observation), info

    def keep(self) -> tuple[Any, Info]:
        """Returns the last observation: a reset that leaves this sub-environment out."""
        return self._observation, {}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, Info]:
        """Steps; returns the step's result, with the observation as in `reset`."""
        with self._turn:
            result = self._step(self._env, action, self._ended)
        observation, reward, terminated, truncated, info = result
        self._ended = self._resets_late and (terminated or truncated)
        return self._show(observation), reward, terminated, truncated, info

    def _show(self, observation: Any) -> Any:
        if self._memory is None:
            self._observation = observation
        else:
            space = self._env.observation_space
            write_to_shared_memory(space, self._index, observation, self._memory)
        return self._observation

    def call(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Calls a method of the environment, or reads an attribute."""
        if name in ("reset", "step", "close"):
            raise ValueError(f"Call {name!r} of the vector environment itself, not through `call`")
        found = self._env.get_wrapper_attr(name)
        return found(*args, **kwargs) if callable(found) else found

    def set_attr(self, name: str, value: Any) -> None:
        """Sets an attribute of the environment."""
        self._env.set_wrapper_attr(name, value)

    def check_spaces(self, mode: ObservationMode, expected: tuple[Any, Any]) -> None:
        """Checks that the environment's spaces are compatible with the others'."""
        actual = self._env.observation_space, self._env.action_space
        check_spaces(mode, self._index, actual, expected)

    def close(self) -> None:
        """Closes the environment; the process ends."""
        self._env.close()


def serve(
    index: int,
    make_env: Callable[[], Env],
    pipe: Connection[Any, Any],
    parent_pipe: Connection[Any, Any],
    memory: Any,
    mode: AutoresetMode,
    turn: Any,
) -> None:
    """Answers commands ``(method, args)`` with ``(result, None)`` or ``(None, exception)``.

    An exception leaves the environment as it is. The loop ends after ``close``, or when the parent
    has gone.
    """
    parent_pipe.close()  # a forked copy would keep the pipe open when the parent has gone
    worker, failure = None, None
    try:
        worker = Worker(index, make_env(), memory, mode, turn)
    except Exception as exc:  # an environment may raise anything
        failure = ForkingPickler.dumps((None, _portable(exc)))
    command = ""
    with contextlib.suppress(EOFError, BrokenPipeError, KeyboardInterrupt):
        while command != "close":
            command, args = pipe.recv()
            pipe.send_bytes(failure or _answer(getattr(worker, command), args))


def _answer(method: Callable[..., Any], args: tuple[Any, ...]) -> memoryview:
    """Returns a pickled answer; a result that cannot be pickled is an exception too."""
    try:
        return ForkingPickler.dumps((method(*args), None))
    except Exception as exc:  # an environment may raise anything
        return ForkingPickler.dumps((None, _portable(exc)))


def _portable(exc: Exception) -> Exception:
    """An exception that can be pickled, with its traceback as text in ``remote_traceback``."""
    text = traceback.format_exc()
    try:
        copy: Exception = pickle.loads(pickle.dumps(exc))  # noqa: S301 - made on this line
    except Exception:  # its class has other arguments
        copy = RuntimeError(f"{type(exc).__name__}: {exc}")
    copy.__dict__["remote_traceback"] = text
    return copy
