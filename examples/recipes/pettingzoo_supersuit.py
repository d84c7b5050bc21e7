"""Turns a remote multi-agent game into a vector environment with SuperSuit: `make examples`."""

from __future__ import annotations

import numpy as np
import supersuit
from pettingzoo.test import parallel_api_test

from envwire.client.pettingzoo import ParallelEnv
from envwire.server import Server

GAME, GAMES = "butterfly/cooperative_pong-v6", 2


def main() -> None:
    """Runs PettingZoo's API test, then steps two games, four paddles in all, as one vector."""
    with Server([f"pettingzoo/{GAME}"]) as server:
        game = ParallelEnv(server.target, GAME)
        parallel_api_test(game, num_cycles=20)
        game.close()

        game = ParallelEnv(server.target, GAME)
        small = supersuit.resize_v1(supersuit.color_reduction_v0(game, "full"), 42, 42)
        vector = supersuit.pettingzoo_env_to_vec_env_v1(small)
        vectors = supersuit.concat_vec_envs_v1(vector, GAMES, base_class="gymnasium")
        observations, _ = vectors.reset(seed=1)
        for _ in range(20):
            actions = [vector.action_space.sample() for _ in range(vectors.num_envs)]
            observations, rewards, *_ = vectors.step(np.array(actions))
        print(f"{GAMES} games: observations {observations.shape}, rewards {rewards.shape}")
        vectors.close()


if __name__ == "__main__":
    main()
