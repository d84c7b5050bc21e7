"""Evaluates one policy on many remote environments in one event loop, each with its own seed.

The environments step concurrently, and one thread waits for all of them. An episode that takes too long is cancelled;
its environment goes on with the next one.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from typing import Any

from envwire.client.aio import RemoteEnv
from envwire.server import Server

ENV_ID = "CartPole-v1"


def policy(observation: Any) -> int:
    """Pushes the cart to the side to which the pole falls."""
    _, _, angle, velocity = observation
    return int(angle + velocity > 0)


async def episode(env: RemoteEnv, seed: int) -> float:
    """Returns the return of one episode."""
    observation, _ = await env.reset(seed=seed)
    total, done = 0.0, False
    while not done:
        observation, reward, terminated, truncated, _ = await env.step(policy(observation))
        total, done = total + float(reward), terminated or truncated
    return total


async def worker(target: str, seeds: asyncio.Queue[int], returns: list[float]) -> None:
    """Plays episodes in one environment until no seed is left."""
    async with RemoteEnv(target, ENV_ID) as env:
        while not seeds.empty():
            seed = seeds.get_nowait()
            try:
                returns.append(await asyncio.wait_for(episode(env, seed), timeout=60.0))
            except asyncio.TimeoutError:
                print(f"seed {seed} took too long")


async def evaluate(target: str, count: int, episodes: int) -> list[float]:
    """Plays the episodes in `count` environments and returns their returns."""
    seeds: asyncio.Queue[int] = asyncio.Queue()
    for seed in range(episodes):
        seeds.put_nowait(seed)
    returns: list[float] = []
    await asyncio.gather(*(worker(target, seeds, returns) for _ in range(count)))
    return returns


def main() -> None:
    """Starts a server, evaluates the policy and prints the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--envs", type=int, default=20, help="environments in the loop")
    parser.add_argument("--episodes", type=int, default=100)
    arguments = parser.parse_args()
    with Server([ENV_ID], max_sessions=arguments.envs, sessions_per_process=20) as server:
        begun = time.perf_counter()
        returns = asyncio.run(evaluate(server.target, arguments.envs, arguments.episodes))
        seconds = time.perf_counter() - begun
    print(f"{len(returns)} episodes in {arguments.envs} environments, {seconds:.1f} s")
    print(f"mean return {statistics.mean(returns):.1f}, {sum(returns) / seconds:.0f} steps/s")


if __name__ == "__main__":
    main()
