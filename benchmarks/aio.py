"""Compares asyncio clients with blocking ones, by ratios of cases that take turns on one server.

With one environment, the ratio is the time of an asyncio client's step over a blocking client's, by transport. With
many, it is the steps per second of environments in one event loop over those of blocking clients in threads. The cases
take turns, so that the machine's noise affects both sides of a ratio alike.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from envwire.client import RemoteEnv, aio
from envwire.server import Server

ENV_ID = "CartPole-v1"
#: Steps of each environment in a measurement of many, chosen so that it takes some tenths of a second.
STEPS = {"direct": 400, "stream": 40}


def _ratios(rounds: int, ours: Callable[[], float], theirs: Callable[[], float]) -> list[float]:
    """Returns one ratio of two measurements per round; which of the two runs first alternates."""
    ratios: list[float] = []
    for turn in range(rounds + 1):
        if turn % 2:
            other, own = theirs(), ours()
        else:
            own, other = ours(), theirs()
        ratios.append(own / other)
    return ratios[1:]  # the first round warms up


def _show(name: str, ratios: list[float]) -> None:
    low, high = min(ratios), max(ratios)
    print(f"{name}: {statistics.median(ratios):.2f} ({low:.2f} to {high:.2f})", flush=True)


def _step_seconds(env: RemoteEnv, steps: int) -> float:
    env.reset(seed=1)
    begun = time.perf_counter()
    for step in range(steps):
        if any(env.step(step % 2)[2:4]):
            env.reset(seed=1)
    return time.perf_counter() - begun


async def _async_step_seconds(env: Any, steps: int) -> float:
    await env.reset(seed=1)
    begun = time.perf_counter()
    for step in range(steps):
        if any((await env.step(step % 2))[2:4]):
            await env.reset(seed=1)
    return time.perf_counter() - begun


def one(loop: asyncio.AbstractEventLoop, target: str, transport: str, rounds: int) -> list[float]:
    """Returns the time of an asyncio client's step over that of a blocking client's."""
    blocking = RemoteEnv(target, ENV_ID, transport=transport)
    own = loop.run_until_complete(aio.RemoteEnv.make(target, ENV_ID, transport=transport))
    try:
        return _ratios(
            rounds,
            lambda: loop.run_until_complete(_async_step_seconds(own, 500)),
            lambda: _step_seconds(blocking, 500),
        )
    finally:
        loop.run_until_complete(own.close())
        blocking.close()


def many(
    loop: asyncio.AbstractEventLoop, target: str, transport: str, rounds: int, count: int
) -> list[float]:
    """Returns the steps per second of `count` environments in one loop over those of 4 blocking clients in threads."""
    steps = STEPS[transport]

    async def make() -> list[Any]:
        make_one = aio.RemoteEnv.make
        return [await make_one(target, ENV_ID, transport=transport) for _ in range(count)]

    async def drive(envs: list[Any]) -> None:
        await asyncio.gather(*(_async_step_seconds(env, steps) for env in envs))

    async def close(envs: list[Any]) -> None:
        await asyncio.gather(*(env.close() for env in envs))

    envs = loop.run_until_complete(make())
    blocking = [RemoteEnv(target, ENV_ID, transport=transport) for _ in range(4)]
    threads = ThreadPoolExecutor(4)

    def in_loop() -> float:
        begun = time.perf_counter()
        loop.run_until_complete(drive(envs))
        return count * steps / (time.perf_counter() - begun)

    def in_threads() -> float:
        begun = time.perf_counter()
        list(threads.map(lambda env: _step_seconds(env, count * steps // 4), blocking))
        return count * steps / (time.perf_counter() - begun)

    try:
        return _ratios(rounds, in_loop, in_threads)
    finally:
        loop.run_until_complete(close(envs))
        for env in blocking:
            env.close()


def main() -> None:
    """Runs the measurements and prints the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--count", type=int, default=100, help="environments in one loop")
    parser.add_argument(
        "--pack",
        type=int,
        help="sessions per process of the server; by default one process holds all, as docs/aio.md recommends",
    )
    arguments = parser.parse_args()
    loop = asyncio.new_event_loop()
    sessions = arguments.count + 10
    pack = arguments.pack or sessions
    with Server([ENV_ID], max_sessions=sessions, sessions_per_process=pack) as server:
        for transport in ("direct", "stream"):
            ratios = one(loop, server.target, transport, arguments.rounds)
            _show(f"{transport}, one environment, time of a step, asyncio over blocking", ratios)
        for transport in ("direct", "stream"):
            ratios = many(loop, server.target, transport, arguments.rounds, arguments.count)
            name = f"{transport}, {arguments.count} environments in a loop over 4 threads"
            _show(f"{name}, steps a second", ratios)
    loop.close()


if __name__ == "__main__":
    main()
