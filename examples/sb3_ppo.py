"""Trains PPO of stable-baselines3 on a remote Gymnasium CartPole: `make example-sb3`.

The agent's code is the one for a local environment; only the line that makes the environment differs.
"""

from __future__ import annotations

import sys

import torch
from stable_baselines3 import PPO
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor

from envwire.client.gymnasium import RemoteEnv
from envwire.server import Server

STEPS, GOAL = 40_000, 400.0


def main() -> int:
    """Trains and evaluates the agent; fails if the goal is missed."""
    torch.set_num_threads(1)  # the network is tiny: threads would only wait for each other
    with Server(["CartPole-v1"]) as server:
        env = RemoteEnv(server.target, "CartPole-v1")
        check_env(env)
        print("stable_baselines3's check_env passed on the remote environment")
        model = PPO(
            "MlpPolicy",
            Monitor(env),
            n_steps=1024,
            batch_size=256,
            n_epochs=10,
            gamma=0.98,
            gae_lambda=0.95,
            learning_rate=1e-3,
            seed=1,
            device="cpu",
        )
        model.learn(STEPS, progress_bar=True)
        mean, deviation = evaluate_policy(model, Monitor(env), n_eval_episodes=20)
        env.close()
    print(f"mean return over 20 episodes: {mean:.1f} ± {deviation:.1f} (goal {GOAL:.0f})")
    return 0 if mean > GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
