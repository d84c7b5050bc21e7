"""The processes of an `AsyncVectorEnv`, and the pipes that carry commands and answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from multiprocessing.reduction import ForkingPickler
from typing import Any, TypeAlias

from envwire.envs.core import Env
from envwire.envs.vector.async_worker import RemoteTraceback, serve
from envwire.envs.vector.utils import CloudpickleWrapper, clear_mpi_env_vars
from envwire.envs.vector.vector_env import AutoresetMode

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
