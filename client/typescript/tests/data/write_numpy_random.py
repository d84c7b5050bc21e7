"""Writes numpy_random.json: what NumPy draws, for the port of its generator to draw as well."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

SEEDS = [0, 1, 42, 2**32, 2**64 + 5, 123456789012345678901234567890, 2**200 + 7]
RANGES = [(0, 2), (0, 10), (-5, 5), (0, 2**31), (0, 2**32), (0, 2**40), (3, 4), (-(2**50), 2**50)]


def drawn(seed: int) -> dict[str, object]:
    """Returns numbers that a generator draws, one kind after the other."""
    generator = np.random.default_rng(seed)
    first = generator.bit_generator.state["state"]
    return {
        "seed": str(seed),
        "state": str(first["state"]),
        "inc": str(first["inc"]),
        "random": [generator.random() for _ in range(5)],
        "integers": [[low, high, int(generator.integers(low, high))] for low, high in RANGES * 3],
        "uniform": [generator.uniform(-3, 7) for _ in range(5)],
    }


def document() -> str:
    """Returns the file's text."""
    return json.dumps([drawn(seed) for seed in SEEDS], indent=1) + "\n"


if __name__ == "__main__":
    Path(__file__).with_name("numpy_random.json").write_text(document())
