"""PPO in torch on many CartPoles in torch, on one device, in two processes: `make example-device` (or `--device cuda`).

The simulator would bring its own Python and torch; here both are the same, so that the training can be repeated with
the environments in the agent's process. Both end with equal weights, bit for bit.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from contextlib import closing
from typing import Any

import torch
from torch import nn

from benchmarks.device_envs import ID, TorchCartPoles
from envwire.client.vector import RemoteVectorEnv
from envwire.server import Server

ENVS = 256
#: Steps of an update, passes over them, and parts of a pass.
STEPS, EPOCHS, PARTS = 32, 4, 4
DISCOUNT, SMOOTHING, CLIP = 0.99, 0.95, 0.2


class Agent(nn.Module):
    """A policy and a value function with common layers."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.policy, self.value = nn.Linear(64, 2), nn.Linear(64, 1)

    def forward(self, observations: Any) -> tuple[Any, Any]:
        """Returns the distribution of the actions, and the values."""
        hidden = self.body(observations)
        return torch.distributions.Categorical(logits=self.policy(hidden)), self.value(hidden)[:, 0]


def train(env: Any, updates: int, device: str) -> tuple[Agent, list[float]]:
    """Trains a new agent; returns it, and the mean length of the episodes during each update."""
    torch.manual_seed(1)
    agent = Agent().to(device)
    optimizer = torch.optim.Adam(agent.parameters(), 1e-3)
    observation, _ = env.reset(seed=1)
    lengths: list[float] = []
    for _ in range(updates):
        seen = [collect(env, agent, observation)]
        observation = seen[0].pop("last")
        learn(agent, optimizer, seen[0])
        lengths.append(STEPS * ENVS / max(1.0, float(seen[0]["ended"].sum())))
    return agent, lengths


@torch.no_grad()
def collect(env: Any, agent: Agent, observation: Any) -> dict[str, Any]:
    """Takes the steps of an update; returns what was seen, and the advantages. Nothing leaves the device."""
    rows: dict[str, list[Any]] = {}
    for _ in range(STEPS):
        chosen, value = agent(observation)
        action = chosen.sample()
        row = {"observation": observation, "action": action, "value": value}
        row["log_probability"] = chosen.log_prob(action)
        observation, row["reward"], terminated, truncated, _ = env.step(action)
        row["ended"] = (terminated | truncated).float()
        for name, part in row.items():
            rows.setdefault(name, []).append(part)
    seen = {name: torch.stack(parts) for name, parts in rows.items()}
    following, advantage = agent(observation)[1], torch.zeros_like(seen["value"])
    last: Any = 0.0
    for step in reversed(range(STEPS)):
        goes_on = 1 - seen["ended"][step]
        surprise = seen["reward"][step] + DISCOUNT * following * goes_on - seen["value"][step]
        last = advantage[step] = surprise + DISCOUNT * SMOOTHING * goes_on * last
        following = seen["value"][step]
    return {**seen, "advantage": advantage, "last": observation}


def learn(agent: Agent, optimizer: Any, seen: dict[str, Any]) -> None:
    """Improves the agent with what was seen."""
    flat = {name: part.flatten(0, 1) for name, part in seen.items()}
    goal = flat["advantage"] + flat["value"]
    for _ in range(EPOCHS):
        for part in torch.randperm(len(goal)).to(goal.device).chunk(PARTS):
            chosen, value = agent(flat["observation"][part])
            advantage = flat["advantage"][part]
            advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
            ratio = (chosen.log_prob(flat["action"][part]) - flat["log_probability"][part]).exp()
            gain = torch.min(ratio * advantage, ratio.clamp(1 - CLIP, 1 + CLIP) * advantage)
            loss = (value - goal[part]).square().mean() / 2 - gain.mean()
            optimizer.zero_grad()
            (loss - 0.01 * chosen.entropy().mean()).backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()


def main() -> int:
    """Trains over the wire and in this process; fails if the weights differ, or nothing was learned."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options.add_argument("--updates", type=int, default=40)
    given = options.parse_args()
    os.environ.setdefault(
        "CUBLAS_WORKSPACE_CONFIG", ":4096:8"
    )  # deterministic products of matrices
    torch.use_deterministic_algorithms(mode=True)
    torch.set_num_threads(1)
    with (
        Server([ID], imports=[TorchCartPoles.__module__], sys_path=(".",)) as server,
        closing(
            RemoteVectorEnv(
                server.target,
                ID,
                ENVS,
                vectorization_mode="vector_entry_point",
                device="host" if given.device == "cpu" else given.device,
                env_kwargs={"device": given.device},
            )
        ) as env,
    ):
        begun = time.perf_counter()
        remote, lengths = train(env, given.updates, given.device)
        took = time.perf_counter() - begun
    local, _ = train(TorchCartPoles(ENVS, device=given.device), given.updates, given.device)
    pairs = zip(remote.state_dict().values(), local.state_dict().values(), strict=True)
    equal = all(torch.equal(*pair) for pair in pairs)
    print(f"{given.device}: {given.updates * STEPS * ENVS / took:,.0f} environment steps a second")
    print(f"mean length of an episode: {lengths[0]:.0f} at first, {lengths[-1]:.0f} at last")
    print(f"weights equal to those of a local training: {'yes' if equal else 'NO'}")
    return 0 if equal and (given.updates < 40 or lengths[-1] > 3 * lengths[0]) else 1


if __name__ == "__main__":
    sys.exit(main())
