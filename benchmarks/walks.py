"""Counts the files and functions that one step passes through, on the client, in the front and in the session process.

    python -m benchmarks.walks            # a table for the direct channel, the gRPC stream and a vector step
    python -m benchmarks.walks --list     # with every function, in the order of its first call

The numbers measure how much code a reader has to follow for one step; they say nothing about speed. Only functions
of `envwire` count, each once. The same traces, and those of a Make and of a loss, check `docs/architecture.md`.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import envwire.envs as gym

ENV_ID = "benchmarks/Traced-v0"
_DEADLINE_SECONDS = 30.0
Walk = list[str]


class Tracer:
    """Records the functions of envwire that run while it is on, in the order of their first call."""

    def __init__(self) -> None:
        self._seen: dict[CodeType, None] = {}

    def start(self) -> None:
        """Starts a new recording."""
        self._seen = {}
        sys.setprofile(self._note)

    def stop(self) -> Walk:
        """Stops, and returns "FILE:FUNCTION" for each function."""
        sys.setprofile(None)
        return _names(self._seen)

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and not _is_upkeep(frame):
            self._seen.setdefault(frame.f_code)


def _is_upkeep(frame: FrameType | None) -> bool:
    """Returns whether a function belongs to the front's upkeep, which may run while a step is traced."""
    while frame is not None:
        if frame.f_code.co_name == "_sweep_forever":
            return True
        frame = frame.f_back
    return False


def _callers(frame: FrameType | None) -> Walk:
    """Returns the functions of envwire that a frame is called from, the outermost first."""
    found: dict[CodeType, None] = {}
    while frame is not None:
        found[frame.f_code] = None
        frame = frame.f_back
    return _names(reversed(found))


def _names(codes: Iterable[CodeType]) -> Walk:
    return [
        f"{_module(code)}:{code.co_qualname if hasattr(code, 'co_qualname') else code.co_name}"
        for code in codes
        if "/envwire/" in code.co_filename
    ]


def _module(code: CodeType) -> str:
    return code.co_filename.rpartition("/envwire/")[2]


class Traced(gym.Env[np.ndarray, int]):
    """Traces the session process from one step to the next: action 1 starts, action 2 stops and returns the trace."""

    observation_space = gym.spaces.Box(-1, 1, (4,), np.float32)
    action_space = gym.spaces.Discrete(3)

    def __init__(self) -> None:
        self._tracer = Tracer()
        self.pid = os.getpid()
        self.makers = _callers(sys._getframe())

    def reset(
        self,
        *,
        seed: int | None = None,
        options: dict[str, Any] | None = None,  # noqa: ARG002 - the API has it
    ) -> Any:
        """Does nothing."""
        super().reset(seed=seed)
        return np.zeros(4, np.float32), {}

    def step(self, action: int) -> Any:
        """Starts or stops the tracing; the step between is an ordinary one."""
        info = {"walk": "\n".join(self._tracer.stop())} if action == 2 else {}
        if action == 1:
            self._tracer.start()
        return np.zeros(4, np.float32), 0.0, False, False, info


gym.register(ENV_ID, entry_point=Traced, disable_env_checker=True, order_enforce=False)


def _serve_traced(path: str) -> None:
    """Serves in this process, and writes the front's walk between the signals USR1 and USR2 to a file."""
    from envwire.server.cli import main

    tracer = Tracer()

    def write(walk: Walk) -> None:
        scratch = Path(path + ".new")
        scratch.write_text(json.dumps(walk), encoding="utf-8")
        scratch.rename(path)

    def begin(*_: object) -> None:
        write([])
        tracer.start()

    signal.signal(signal.SIGUSR1, begin)
    signal.signal(signal.SIGUSR2, lambda *_: write(tracer.stop()))
    sys.argv = ["envwire", "serve", ENV_ID, "--import", "benchmarks.walks", "--port", "0"]
    main()


@contextmanager
def _server(path: Path) -> Any:
    """Yields a server's target and its number."""
    command = [sys.executable, "-m", "benchmarks.walks", "--serve", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            if process.stdout is None:
                raise RuntimeError("no pipe to the server")
            yield process.stdout.readline().strip().removeprefix("ready: "), process.pid
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(_DEADLINE_SECONDS)


def _front(pid: int, path: Path, step: Callable[[], object]) -> Walk:
    os.kill(pid, signal.SIGUSR1)
    _written(path)
    step()
    os.kill(pid, signal.SIGUSR2)
    return _written(path)


def _written(path: Path) -> Walk:
    """Waits for the front to write a walk, and takes it."""
    deadline = time.monotonic() + _DEADLINE_SECONDS
    while not path.exists():
        if time.monotonic() > deadline:
            raise TimeoutError("the front wrote no walk")
        time.sleep(0.01)
    walk: Walk = json.loads(path.read_text(encoding="utf-8"))
    path.unlink()
    return walk


def _client(step: Callable[[], object]) -> Walk:
    tracer = Tracer()
    tracer.start()
    try:
        step()
    finally:
        walk = tracer.stop()
    return walk


def walks(folder: Path) -> dict[str, dict[str, Walk]]:
    """Returns the walk of each side for each way to step."""
    from envwire.client import RemoteEnv, RemoteVectorEnv

    found: dict[str, dict[str, Walk]] = {}
    path = folder / "front.json"
    with _server(path) as (target, pid):
        for transport in ("direct", "stream"):
            env = RemoteEnv(target, ENV_ID, transport=transport)
            env.reset(seed=1)
            for _ in range(20):  # the codec has seen what the step looks like
                env.step(0)
            sides = {"client": _client(lambda: env.step(0))}  # noqa: B023 - called at once
            if transport == "stream":
                sides["front"] = _front(pid, path, lambda: env.step(0))  # noqa: B023 - called at once
            env.step(1)
            env.step(0)
            sides["session"] = env.step(2)[4]["walk"].splitlines()
            found[transport] = sides
            env.close()
        envs = RemoteVectorEnv(target, ENV_ID, num_envs=4, sessions=2)
        envs.reset(seed=1)
        actions = np.zeros(4, np.int64)
        for _ in range(20):
            envs.step(actions)
        found["vector"] = {"client": _client(lambda: envs.step(actions))}
        envs.close()
    return found


def lives(folder: Path) -> dict[str, dict[str, Walk]]:
    """Returns the walks of a Make, and of a step whose session process is killed and which is recovered by a replay."""
    from envwire.client import RemoteEnv

    path = folder / "front.json"
    with _server(path) as (target, pid):

        def make() -> RemoteEnv:
            return RemoteEnv(target, ENV_ID, on_lost="replay")

        made = {"client": _client(lambda: make().close())}
        env = make()
        made["front"] = _front(pid, path, lambda: make().close())
        made["session"] = env.get_wrapper_attr("makers")
        session: int = env.get_wrapper_attr("pid")
        env.reset(seed=1)

        def lose() -> None:
            os.kill(session, signal.SIGKILL)
            env.step(0)

        lost: dict[str, Walk] = {}

        def lose_traced() -> None:
            lost["client"] = _client(lose)

        lost["front"] = _front(pid, path, lose_traced)
        env.close()
    return {"make": made, "loss": lost}


def _print(found: dict[str, dict[str, Walk]], listed: bool) -> None:
    console = Console()
    table = Table("step", "side", "files", "functions", title="What one step passes through")
    for name, sides in found.items():
        rows = {**sides, "all": sorted({part for walk in sides.values() for part in walk})}
        for side, walk in rows.items():
            files = {part.partition(":")[0] for part in walk}
            table.add_row(name, side, str(len(files)), str(len(walk)))
            if listed and side != "all":
                console.print(f"[bold]{name}, {side}[/bold]")
                console.print("\n".join(walk), highlight=False)
    console.print(table)


def main() -> None:
    """Serves for a trace, or traces and prints."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--list", action="store_true", help="print every function")
    parser.add_argument("--serve", metavar="FILE", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        _serve_traced(arguments.serve)
        return
    with tempfile.TemporaryDirectory() as folder:
        _print(walks(Path(folder)), arguments.list)


if __name__ == "__main__":
    main()
