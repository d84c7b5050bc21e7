"""Measures what more processors bring: layouts of vectors, clients at once, and Makes: `python -m benchmarks.cores`.

Vectors are compared with Gymnasium's AsyncVectorEnv, clients with pairs of processes that exchange as many bytes over
blocking TCP sockets. The cases of a table take turns; the figures are medians and ranges of the rounds.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import socket
import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import gymnasium
import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.cores_envs import BUSY, Busy
from envwire.client import RemoteEnv, RemoteVectorEnv
from envwire.server import Server

COSTS = (0.0, 14e-6, 100e-6, 1e-3, 10e-3)
MEMBERS = (8, 16, 64)
CLIENTS = (1, 2, 4, 8, 16, 32)
MAKING_THREADS = 32
#: Seven rounds of all tables take four minutes on two processors.
_TURN_SECONDS, _CLIENTS_SECONDS = 0.15, 0.5
#: Bytes of a step's request and answer over the direct channel.
_REQUEST, _REPLY = bytes(40), bytes(80)
#: Forks from a process that has imported this module: a new interpreter takes longer than its turn.
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["benchmarks.cores"])
Times = dict[str, list[float]]


class GymnasiumBusy(gymnasium.Env[Any, Any]):
    """The same environment for Gymnasium's vectors, which accept no other library's."""

    def __init__(self, seconds: float) -> None:
        self._env = Busy(seconds)
        self.observation_space = gymnasium.spaces.Box(0, np.inf, (4,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        """Starts to count."""
        super().reset(seed=seed)
        del options
        return self._env.reset(seed=seed)

    def step(self, action: Any) -> Any:
        """Computes."""
        return self._env.step(action)


def milliseconds(env: Any) -> float:
    """Steps a vector environment for a moment; returns the milliseconds of a step."""
    actions = np.zeros(env.num_envs, np.int64)
    env.step(actions)
    steps, begun = 0, time.perf_counter()
    while (passed := time.perf_counter() - begun) < _TURN_SECONDS:
        env.step(actions)
        steps += 1
    return passed / steps * 1e3


def layouts(target: str, rounds: int, cores: int) -> Iterator[tuple[str, Times]]:
    """Yields the times of a step for each cost and number of members: ours in several layouts, and AsyncVectorEnv."""
    remote = partial(RemoteVectorEnv, target, BUSY)
    for seconds in track(COSTS, description="layouts"):
        for members in MEMBERS:
            kwargs = {"seconds": seconds}
            cases: dict[str, Callable[[], Any]] = {
                "default": partial(remote, num_envs=members, env_kwargs=kwargs),
                "one session": partial(remote, num_envs=members, sessions=1, env_kwargs=kwargs),
                "one a core": partial(
                    remote, num_envs=members, sessions=min(cores, members), env_kwargs=kwargs
                ),
                "AsyncVectorEnv": partial(
                    gymnasium.vector.AsyncVectorEnv,
                    [partial(GymnasiumBusy, seconds)] * members,
                ),
            }
            yield f"{members} x {seconds * 1e6:.0f} us", in_turns(cases, rounds)


def in_turns(cases: dict[str, Callable[[], Any]], rounds: int) -> Times:
    """Makes each vector environment anew in each round, as a new trainer does, and returns the times of a step."""
    times: Times = {name: [] for name in cases}
    for _ in range(rounds):
        for name, make in cases.items():
            env = make()
            env.reset(seed=0)
            times[name].append(milliseconds(env))
            env.close()
    return times


def _step(target: str, begin: Any, results: Any) -> None:
    """Steps an environment while the others do."""
    with RemoteEnv(target, BUSY) as env:
        env.reset(seed=0)
        results.put(_rate(partial(env.step, 0), begin))


def _exchange(begin: Any, results: Any) -> None:
    """Exchanges bytes with a process of its own."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        peer = _CONTEXT.Process(target=_answer, args=(listener.getsockname(),), daemon=True)
        peer.start()
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def exchange() -> None:
        connection.sendall(_REQUEST)
        connection.recv(len(_REPLY), socket.MSG_WAITALL)

    with connection:
        results.put(_rate(exchange, begin))
    peer.join()


def _answer(address: tuple[str, int]) -> None:
    with socket.create_connection(address) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while connection.recv(len(_REQUEST), socket.MSG_WAITALL):
            connection.sendall(_REPLY)


def _rate(step: Callable[[], object], begin: Any) -> float:
    """Returns how often a second something can be done, beginning together with the other processes."""
    for _ in range(200):
        step()
    begin.wait()
    count, begun = 0, time.perf_counter()
    while (passed := time.perf_counter() - begun) < _CLIENTS_SECONDS:
        for _ in range(20):
            step()
        count += 20
    return count / passed


def together(work: Callable[..., None], count: int, *arguments: Any) -> list[float]:
    """Runs some processes at once; returns the rate of each."""
    begin, results = _CONTEXT.Barrier(count), _CONTEXT.Queue()
    processes = [
        _CONTEXT.Process(target=work, args=(*arguments, begin, results)) for _ in range(count)
    ]
    for process in processes:
        process.start()
    rates = [results.get(timeout=120) for _ in processes]
    for process in processes:
        process.join()
    return rates


def clients(target: str, rounds: int, most: int) -> Iterator[tuple[str, Times]]:
    """Yields the steps per second of all clients together, beside raw TCP, and the fastest over the slowest client."""
    for count in track([each for each in CLIENTS if each <= most], description="clients"):
        found: Times = {"steps/s": [], "raw TCP": [], "fastest / slowest": []}
        for _ in range(rounds):
            rates = together(_step, count, target)
            found["steps/s"].append(sum(rates))
            found["fastest / slowest"].append(max(rates) / min(rates))
            found["raw TCP"].append(sum(together(_exchange, count)))
        yield f"{count}", found


def makes(target: str, rounds: int) -> Iterator[tuple[str, Times]]:
    """Yields the Makes per second, one after another and from many threads."""

    def make(_: int) -> None:
        RemoteEnv(target, BUSY).close()

    found: Times = {"one after another": [], f"{MAKING_THREADS} threads": []}
    with ThreadPoolExecutor(MAKING_THREADS) as pool:
        for _ in track(range(rounds), description="Makes"):
            begun = time.perf_counter()
            list(map(make, range(20)))
            found["one after another"].append(20 / (time.perf_counter() - begun))
            begun = time.perf_counter()
            list(pool.map(make, range(3 * MAKING_THREADS)))
            found[f"{MAKING_THREADS} threads"].append(
                3 * MAKING_THREADS / (time.perf_counter() - begun)
            )
    yield "Makes/s", found


def show(title: str, rows: Iterator[tuple[str, Times]]) -> None:
    """Prints medians and ranges."""
    found = list(rows)
    table = Table("", *found[0][1], title=title)
    for name, times in found:
        table.add_row(name, *(_summary(values) for values in times.values()))
    Console(width=120).print(table)


def _summary(values: list[float]) -> str:
    digits = 2 if max(values) < 100 else 0
    median, least, most = statistics.median(values), min(values), max(values)
    return f"{median:,.{digits}f} ({least:,.{digits}f} to {most:,.{digits}f})"


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", choices=["layouts", "clients", "makes"], help="one of the tables")
    arguments = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    print(f"{cores} processors, load average {os.getloadavg()[0]:.1f}")
    with Server([BUSY], imports=["benchmarks.cores_envs"], max_sessions=256) as server:
        target = server.target
        if arguments.only in (None, "clients"):
            show("clients at once", clients(target, arguments.rounds, 4 * cores))
        if arguments.only in (None, "makes"):
            show("Makes", makes(target, arguments.rounds))
        if arguments.only in (None, "layouts"):
            show("ms a step", layouts(target, arguments.rounds, cores))


if __name__ == "__main__":
    main()
