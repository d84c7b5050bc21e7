"""The processes of a running case: its server and the workers that hold its clients."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from typing import Any, TextIO

from benchmarks.peers.plan import VENVS, Case

#: Seconds until a process must have started, or its client connected.
START = 60.0
#: Seconds that one answer may take beyond the time that was asked for.
ANSWER = 15.0
#: Seconds that a process has to close its things at the end.
STOP = 4.0
#: Maximum number of processes over which client threads are spread, so that the interpreter lock is not the limit.
PROCESSES = 4


class CaseFailedError(Exception):
    """A case cannot be measured; the table shows the message in its row."""


def interpreter(case: Case) -> str:
    """Returns the Python that has the case's packages.

    Raises:
        CaseFailedError: It was not installed.
    """
    if not case.venv:
        return sys.executable
    python = VENVS / case.venv / "bin" / "python"
    if python.exists():
        return str(python)
    failure = VENVS / f"{case.venv}.failed"
    why = failure.read_text().strip() if failure.exists() else "benchmarks/peers/install.sh does it"
    raise CaseFailedError(f"not installed: {why}")


class Child:
    """A process that answers in lines of JSON, in its own process session, so that its children can be ended with it.

    Args:
        python: The interpreter.
        module: Module of `benchmarks.peers` to run.
        task: Its command-line argument.
    """

    def __init__(self, python: str, module: str, task: dict[str, Any]) -> None:
        self._errors: TextIO = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed by `end`
        self._rest = b""
        self._process = subprocess.Popen(
            [python, "-m", f"benchmarks.peers.{module}", json.dumps(task)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,
            env={**os.environ, "GRPC_VERBOSITY": "NONE", "PYTHONWARNINGS": "ignore"},
        )

    def tell(self, command: dict[str, Any]) -> None:
        """Sends a command.

        Raises:
            CaseFailedError: The process ended.
        """
        if self._process.stdin is None:
            raise CaseFailedError("the process has no pipe")
        try:
            self._process.stdin.write(json.dumps(command).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise CaseFailedError(self._last_words()) from None

    def hear(self, timeout: float, waiting_for: str) -> dict[str, Any]:
        """Returns the next answer.

        Args:
            timeout: Seconds.
            waiting_for: What is awaited, for the error message.

        Raises:
            CaseFailedError: The process failed, ended or is silent.
        """
        end = time.monotonic() + timeout
        while b"\n" not in self._rest:
            self._read(end - time.monotonic(), f"{waiting_for} takes more than {timeout:.0f} s")
        line, _, self._rest = self._rest.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise CaseFailedError(answer["error"])
        return answer

    def _read(self, timeout: float, too_late: str) -> None:
        pipe = self._process.stdout
        if pipe is None or not select.select([pipe], [], [], max(timeout, 0.0))[0]:
            raise CaseFailedError(too_late)
        data = os.read(pipe.fileno(), 65536)
        if not data:
            raise CaseFailedError(self._last_words())
        self._rest += data

    def _last_words(self) -> str:
        self._errors.seek(0)
        lines = self._errors.read().strip().splitlines()
        return lines[-1] if lines else "the process ended without a word"

    def hang_up(self) -> None:
        """Asks the process to end."""
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()

    def end(self, deadline: float) -> None:
        """Waits for the end of the process until a time of `time.monotonic`, then kills it and its children."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(max(deadline - time.monotonic(), 0.0))
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._errors.close()


class RunningCase:
    """A case whose processes run. `launch` and `connect` are separate so that many can start at the same time.

    Args:
        case: The case.
        core: The core to keep its processes on, or None.
    """

    def __init__(self, case: Case, core: int | None) -> None:
        self.case = case
        self._task = {"module": case.module, "setup": asdict(case.setup), "core": core}
        self._server: Child | None = None
        self._workers: list[Child] = []

    def launch(self) -> None:
        """Starts the server, if there is one.

        Raises:
            CaseFailedError: It is not installed, or is excluded.
        """
        if self.case.absent:
            raise CaseFailedError(self.case.absent)
        if self.case.served:
            self._server = Child(interpreter(self.case), "served", self._task)

    def connect(self) -> None:
        """Starts the workers, which connect to the server.

        Raises:
            CaseFailedError: The server failed to start.
        """
        port = self._server.hear(START, "the start of the server")["port"] if self._server else 0
        count = min(PROCESSES, self.case.setup.clients)
        task = {**self._task, "port": port, "clients": self.case.setup.clients // count}
        python = interpreter(self.case)
        for _ in range(count):
            self._workers.append(Child(python, "worker", task))

    def wait(self) -> None:
        """Waits until every client has made a step.

        Raises:
            CaseFailedError: A client failed.
        """
        for worker in self._workers:
            worker.hear(START, "the first step")

    def run(self, clients: int, seconds: float) -> list[tuple[int, float]]:
        """Lets clients step together.

        Args:
            clients: How many, spread evenly over the processes.
            seconds: How long.

        Returns:
            For each client the steps it made and the seconds they took.

        Raises:
            CaseFailedError: A client failed or hangs.
        """
        busy = self._workers[: min(clients, len(self._workers))]
        for worker in busy:
            worker.tell({"clients": clients // len(busy), "seconds": seconds})
        answers = [worker.hear(seconds + ANSWER, "a step") for worker in busy]
        return [(steps, took) for answer in answers for steps, took in answer["tallies"]]

    def hang_up(self) -> None:
        """Asks the processes to end, clients first."""
        for child in self._children:
            child.hang_up()

    def end(self, deadline: float) -> None:
        """Waits for the end of the processes until a time of `time.monotonic`, then kills them."""
        for child in self._children:
            child.end(deadline)

    @property
    def _children(self) -> list[Child]:
        return [*self._workers, *([self._server] if self._server else [])]
