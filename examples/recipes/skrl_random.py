"""skrl's wrapper and memory on remote environments, one and a vector: `make example-skrl`."""

from __future__ import annotations

import torch
from skrl.envs.wrappers.torch import wrap_env

from envwire.client.gymnasium import RemoteEnv, RemoteVectorEnv
from envwire.server import Server

ENV_ID, ENVS, STEPS = "Pendulum-v1", 3, 50


def main() -> None:
    """Steps both through skrl."""
    with Server([ENV_ID]) as server:
        for made in (
            RemoteEnv(server.target, ENV_ID),
            RemoteVectorEnv(server.target, ENV_ID, ENVS),
        ):
            env = wrap_env(made, wrapper="gymnasium")
            observations, _ = env.reset()
            for _ in range(STEPS):
                observations, rewards, *_ = env.step(torch.zeros(env.num_envs, 1))
            print(f"{env.num_envs} at once: {tuple(observations.shape)}, {tuple(rewards.shape)}")
            env.close()


if __name__ == "__main__":
    main()
