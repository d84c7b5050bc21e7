"""PPO of stable-baselines3 on a remote Breakout, with its own Atari wrapper on the client: `make example-atari`."""

from __future__ import annotations

import torch
from stable_baselines3 import PPO
from stable_baselines3.common.atari_wrappers import AtariWrapper
from stable_baselines3.common.vec_env import DummyVecEnv, VecFrameStack

from envwire.client.gymnasium import RemoteEnv
from envwire.server import Server

ENV_ID, STEPS = "ALE/Breakout-v5", 1024


def main() -> None:
    """Trains briefly, without `terminal_on_life_loss`: only a wrapper on the server can read the emulator's lives."""
    torch.set_num_threads(1)
    with Server([ENV_ID], imports=["ale_py"]) as server:

        def make() -> AtariWrapper:
            env = RemoteEnv(server.target, ENV_ID, frameskip=1)
            return AtariWrapper(env, terminal_on_life_loss=False)

        envs = VecFrameStack(DummyVecEnv([make]), 4)
        model = PPO("CnnPolicy", envs, n_steps=256, batch_size=64, n_epochs=1, device="cpu", seed=1)
        model.learn(STEPS)
        print(f"{model.num_timesteps} steps of {envs.observation_space}")
        envs.close()


if __name__ == "__main__":
    main()
