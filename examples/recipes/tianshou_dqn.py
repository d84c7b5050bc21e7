"""A DQN of Tianshou collects from remote environments: `make example-tianshou`."""

from __future__ import annotations

from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, CollectStats, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.utils.net.common import Net
from tianshou.utils.torch_utils import policy_within_training_step

from envwire.client.gymnasium import RemoteEnv
from envwire.server import Server

ENV_ID, ENVS = "CartPole-v1", 2


def main() -> None:
    """Collects, and learns from what it collected."""
    with Server([ENV_ID]) as server:
        envs = DummyVectorEnv([lambda: RemoteEnv(server.target, ENV_ID) for _ in range(ENVS)])
        print("gravity:", envs.get_env_attr("gravity"))
        env = RemoteEnv(server.target, ENV_ID)
        net = Net(state_shape=(4,), action_shape=2, hidden_sizes=[64])
        policy = DiscreteQLearningPolicy(model=net, action_space=env.action_space)
        algorithm = DQN(policy=policy, optim=AdamOptimizerFactory(lr=1e-3))
        buffer = VectorReplayBuffer(2000, ENVS)
        collector = Collector[CollectStats](algorithm, envs, buffer)
        collector.reset()
        stats = collector.collect(n_step=500)
        print(f"{stats.n_collected_steps} steps, {stats.n_collected_episodes} episodes")
        with policy_within_training_step(policy):
            algorithm.update(buffer=buffer, sample_size=64)
        envs.close()
        env.close()


if __name__ == "__main__":
    main()
