"""TorchRL on remote environments: one, a vector, and its collector: `make example-torchrl`."""

from __future__ import annotations

from torchrl.collectors import Collector
from torchrl.envs import GymWrapper

from envwire.client.gymnasium import RemoteEnv, RemoteVectorEnv
from envwire.server import Server

ENV_ID, ENVS = "CartPole-v1", 4


def main() -> None:
    """Rolls out each of them."""
    with Server([ENV_ID]) as server:
        env = GymWrapper(RemoteEnv(server.target, ENV_ID), device="cpu")
        print("single:", env.rollout(50, break_when_any_done=False).batch_size)
        env.close()

        envs = GymWrapper(
            RemoteVectorEnv(server.target, ENV_ID, ENVS, autoreset_mode="SAME_STEP"), device="cpu"
        )
        rollout = envs.rollout(50, break_when_any_done=False)
        print("vector:", rollout.batch_size)
        assert rollout.batch_size == (ENVS, 50)
        envs.close()

        collector = Collector(
            lambda: GymWrapper(RemoteEnv(server.target, ENV_ID), device="cpu"),
            frames_per_batch=100,
            total_frames=300,
        )
        print("collector:", [batch.batch_size for batch in collector])
        collector.shutdown()


if __name__ == "__main__":
    main()
