"""Makes environments and vectors at one name, steps each, and counts those that worked.

Usage: agent.py TARGET ENVIRONMENTS VECTORS
"""

from __future__ import annotations

import sys

from envwire.client import RemoteEnv, RemoteError, RemoteVectorEnv

target, envs, vectors = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
worked = 0
for number in range(envs + vectors):
    try:
        if number < envs:
            env = RemoteEnv(target, "CartPole-v1")
            env.reset(seed=number)
            env.step(0)
        else:
            env = RemoteVectorEnv(target, "CartPole-v1", num_envs=8, sessions=4)
            env.reset(seed=number)
            env.step([0] * 8)
        env.close()
        worked += 1
    except RemoteError as error:
        print(f"{number}: {error}")
print(f"{worked} of {envs + vectors}")
