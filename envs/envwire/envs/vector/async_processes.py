"""The processes of an `AsyncVectorEnv`, one for each sub-environment, and the pipes of commands and answers."""

from __future__ import annotations

import contextlib
import pickle
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from typing import Any, TypeAlias

from envwire.envs._env import Info
from envwire.envs.core import Env
from envwire.envs.vector.sub_environments import STEPPERS, ObservationMode, check_spaces
from envwire.envs.vector.utils import CloudpickleWrapper, clear_mpi_env_vars, write_to_shared_memory
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


#: The name of a method of `Worker`, and its arguments.
Command: TypeAlias = "tuple[str, tuple[Any, ...]]"


class WorkerExitedError(RuntimeError):
    """The process of a sub-environment ended unexpectedly."""


class WorkerProcesses:
    """One process for each sub-environment.

    Attributes:
        processes: The processes, in the order of the sub-environments.
        pipes: This process's end of the pipe to each of them.
    """

    def __init__(self, context: Any, name: str) -> None:
        self._context = context
        self._name = name
        self.processes: list[Any] = []
        self.pipes: list[Any] = []

    def start(
        self,
        env_fns: Sequence[Callable[[], Env]],
        memory: Any,
        mode: AutoresetMode,
        max_concurrency: int | None,
        daemon: bool,
    ) -> None:
        """Starts a process for each of ``env_fns``; the arguments are those of `AsyncVectorEnv`."""
        limit = max_concurrency
        # Kept: a semaphore that is garbage-collected here can no longer be opened by the processes.
        self._turn = None if limit is None else self._context.BoundedSemaphore(limit)
        for index, env_fn in enumerate(env_fns):
            ours, theirs = self._context.Pipe()
            make_env = CloudpickleWrapper(env_fn)
            process = self._context.Process(
                target=serve,
                name=f"{self._name}-{index}",
                args=(index, make_env, theirs, ours, memory, mode, self._turn),
                daemon=daemon,
            )
            with clear_mpi_env_vars():
                process.start()
            self.pipes.append(ours)
            self.processes.append(process)
            theirs.close()

    def send(self, commands: Iterable[Command]) -> None:
        """Sends one command to each process.

        All are pickled before the first is sent: a process that got one without the others would answer it, and that
        answer would be taken for one to the next command.

        Raises:
            WorkerExitedError: A process has ended.
            ValueError: There are more commands than processes, or fewer.
        """
        pairs = zip(self.pipes, commands, strict=True)
        messages = [ForkingPickler.dumps(command) for _, command in pairs]
        index = 0
        try:
            for index, message in enumerate(messages):
                self.pipes[index].send_bytes(message)
        except OSError as exc:
            raise self._exited(index) from exc

    def collect(self) -> list[Any]:
        """Returns the answer of every process to its last command.

        Raises:
            WorkerExitedError: A process has ended.
            Exception: The exception of a sub-environment. Every process has answered by then, so
                that the next command finds no old answer in a pipe.
        """
        answers = [self._answer_of(index) for index in range(len(self.pipes))]
        failures = {index: exc for index, (_, exc) in enumerate(answers) if exc is not None}
        for exc in failures.values():
            raise exc from RemoteTraceback(_report(failures))
        return [result for result, _ in answers]

    def _answer_of(self, index: int) -> tuple[Any, Any]:
        try:
            answer: tuple[Any, Any] = self.pipes[index].recv()
        except (EOFError, OSError) as exc:
            raise self._exited(index) from exc
        return answer

    def _exited(self, index: int) -> WorkerExitedError:
        process = self.processes[index]
        process.join()
        return WorkerExitedError(
            f"The process of sub-environment {index} ended: {process.exitcode}"
        )

    def wait(self, timeout: float | None) -> bool:
        """Returns whether every process has answered within ``timeout`` seconds; None: no limit."""
        if timeout is None:
            return True
        due = time.monotonic() + timeout
        return all(pipe.poll(max(due - time.monotonic(), 0)) for pipe in self.pipes)

    def discard_answers(self, timeout: float | None) -> bool:
        """Drops the answers to the last commands; returns whether all came within ``timeout``."""
        if not self.wait(timeout):
            return False
        try:
            for index in range(len(self.pipes)):
                self._answer_of(index)
        except WorkerExitedError:
            return False
        return True

    def terminate(self) -> None:
        """Terminates the processes."""
        for process in self.processes:
            process.terminate()

    def join(self) -> None:
        """Closes the pipes and waits for the processes to end."""
        for pipe in self.pipes:
            pipe.close()
        for process in self.processes:
            process.join()


def _report(failures: dict[int, Any]) -> str:
    """The tracebacks of all sub-environments that failed at once; only one can be raised."""
    parts = (f"In sub-environment {i}:\n{exc.remote_traceback}" for i, exc in failures.items())
    return "\n".join(parts)
