"""Steps an environment; as a program, a local one in the interpreter that runs it. It imports nothing of envwire."""

from __future__ import annotations

import hashlib
import sys
from typing import Any


def digest(env: Any, steps: int = 200) -> str:
    """Returns the SHA-256 of a seeded rollout's types, observations, rewards and ends."""
    found = hashlib.sha256()

    def note(observation: Any, *others: Any) -> None:
        found.update(f"{observation.dtype} {observation.shape} {others}".encode())
        found.update(observation.tobytes())

    note(env.reset(seed=7)[0])
    for number in range(steps):
        observation, reward, terminated, truncated, _ = env.step(number % 2)
        note(observation, float(reward), bool(terminated), bool(truncated))
        if terminated or truncated:
            note(env.reset()[0])
    return found.hexdigest()


if __name__ == "__main__":
    import gymnasium

    print(digest(gymnasium.make(sys.argv[1])))
