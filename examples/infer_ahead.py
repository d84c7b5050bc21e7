"""Infers the next chunk of actions while the last one runs, as a policy does whose environment is far away."""

from __future__ import annotations

from itertools import islice
from typing import Any

from envwire.client import RemoteEnv
from envwire.server import Server

CHUNK = 8
#: After which result of a chunk the next one is inferred: late enough to see something, early enough to arrive in time.
INFER_AFTER = 3


def policy(observation: Any) -> list[int]:
    """Returns the next actions of a chunk; a real one takes some time for it."""
    _, _, angle, velocity = observation
    first = int(angle + velocity > 0)
    return [(first + step) % 2 for step in range(CHUNK)]


def ended(results: list[Any]) -> bool:
    """Returns whether the last step ended the episode."""
    _, _, terminated, truncated, _ = results[-1]
    return bool(terminated or truncated)


def episode(env: RemoteEnv, seed: int) -> int:
    """Plays an episode; returns how many steps it had."""
    observation, _ = env.reset(seed=seed)
    running, taken = env.step_ahead(policy(observation)), 0
    while True:
        seen = list(islice(running, INFER_AFTER))
        following = running
        if not ended(seen):
            following = env.step_ahead(
                policy(seen[-1][0])
            )  # is sent while the rest of the chunk runs
            seen += running
        taken += len(seen)
        if ended(seen):  # if the episode has ended in this chunk, nothing of the next one is taken
            return taken
        running = following


def main() -> None:
    """Plays on a server of its own."""
    with Server(["CartPole-v1"]) as server, RemoteEnv(server.target, "CartPole-v1") as env:
        for seed in range(5):
            print(f"seed {seed}: {episode(env, seed)} steps", flush=True)


if __name__ == "__main__":
    main()
