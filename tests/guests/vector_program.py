"""Steps proxies in separate processes: `vector_program.py HOST:PORT START_METHOD`; prints the results.

A program by itself, since processes started by "spawn" and "forkserver" import the program that started them.
"""

from __future__ import annotations

import sys
from functools import partial

import gymnasium
import numpy as np
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

from envwire.client.gymnasium import RemoteEnv

COUNT, STEPS = 3, 120


def main(target: str, method: str) -> None:
    """Compares proxies in processes with local environments, and with what `make_vec` makes of the id."""
    remote = AsyncVectorEnv([partial(RemoteEnv, target, "CartPole-v1")] * COUNT, context=method)
    registered = gymnasium.make_vec(
        "envwire.client.gymnasium:envwire/Remote-v0",
        COUNT,
        vectorization_mode="async",
        vector_kwargs={"context": method},
        target=target,
        env_id="CartPole-v1",
    )
    local = SyncVectorEnv([partial(gymnasium.make, "CartPole-v1")] * COUNT)
    envs = (remote, registered, local)
    started = [env.reset(seed=5)[0] for env in envs]
    assert all(np.array_equal(one, started[-1]) for one in started)
    local.action_space.seed(5)
    ends = 0
    for _ in range(STEPS):
        actions = local.action_space.sample()
        steps = [env.step(actions) for env in envs]
        for step in steps[:-1]:
            assert all(np.array_equal(mine, its) for mine, its in zip(step[:4], steps[-1][:4]))  # noqa: B905
        ends += int(np.sum(steps[-1][2]))
    for env in envs:
        env.close()
    print(f"{method}: {ends} episodes ended")


if __name__ == "__main__":
    main(*sys.argv[1:])
