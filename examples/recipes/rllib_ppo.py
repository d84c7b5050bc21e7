"""PPO of RLlib with two runners, each with its own remote environments: `make example-rllib`."""

from __future__ import annotations

from typing import Any

import ray
from ray.rllib.algorithms.ppo import PPOConfig
from ray.tune.registry import register_env

from envwire.client.gymnasium import RemoteEnv
from envwire.server import Server


def make(config: dict[str, Any]) -> RemoteEnv:
    """Makes an environment in a runner's process."""
    return RemoteEnv(config["target"], "CartPole-v1")


def main() -> None:
    """Trains for two iterations."""
    with Server(["CartPole-v1"]) as server:
        ray.init(num_cpus=3, include_dashboard=False, log_to_driver=False)
        register_env("remote-cartpole", make)
        algorithm = (
            PPOConfig()
            .environment("remote-cartpole", env_config={"target": server.target})
            .env_runners(num_env_runners=2)
            .training(train_batch_size_per_learner=512, minibatch_size=128, num_epochs=2)
            .build_algo()
        )
        for _ in range(2):
            result = algorithm.train()
        print("mean return:", result["env_runners"]["episode_return_mean"])
        algorithm.stop()
        ray.shutdown()


if __name__ == "__main__":
    main()
