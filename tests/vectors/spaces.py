"""Vectors of spaces, and of generators with their draws."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from google.protobuf import text_format

from envwire.codec import encode_random_state, encode_space
from envwire.envs import spaces
from envwire.v1 import spaces_pb2 as pb
from tests.space_catalogue import catalogue
from tests.vectors.vector import described


def encoded(space: Any) -> pb.Space:
    message = pb.Space()
    encode_space(space, message)
    return message


def vectors() -> Iterator[dict[str, Any]]:
    """Yields all vectors of spaces."""
    for name, space in catalogue(spaces).items():
        message = encoded(space)
        if _has_generator(message):  # drawn while it was made
            space.seed(0)
            message = encoded(space)
        yield described(name, "A space; its generators, if it has any, from seed 0.", message)
    shared = spaces.Discrete(3)
    twice = encoded(spaces.Tuple((shared, spaces.Dict({"again": shared}))))
    yield described("same_as", "One space in two places: number 0 of the tree.", twice)
    seeded = spaces.Box(-1, 1, (2,), np.float32, seed=1)
    yield described("seeded", "A space with its generator.", encoded(seeded))


def _has_generator(message: pb.Space) -> bool:
    return "np_random" in text_format.MessageToString(message)


def random_vectors() -> Iterator[dict[str, Any]]:
    """Yields the states of generators, each with the numbers drawn from it."""
    for name, bits in (
        ("PCG64, seed 0", np.random.PCG64(0)),
        ("PCG64, seed 2**100", np.random.PCG64(2**100)),
        ("PCG64, half a word kept", np.random.PCG64(7)),
        ("MT19937", np.random.MT19937(0)),
        ("Philox", np.random.Philox(0)),
        ("SFC64", np.random.SFC64(0)),
    ):
        generator = np.random.Generator(bits)
        if "half" in name:
            generator.integers(0, 10, dtype=np.uint32)
        message = pb.RandomState()
        encode_random_state(generator, message)
        vector = described(name, "The state, and what is drawn from it in turn.", message)
        yield vector | {"draws": _draws(generator)}


def _draws(generator: np.random.Generator) -> dict[str, Any]:
    """Returns draws in the order in which they are made; floats as their shortest decimal form."""
    return {
        "random()": [float(generator.random()) for _ in range(3)],
        "integers(0, 10)": [int(generator.integers(0, 10)) for _ in range(3)],
        "integers(0, 10, dtype=uint32)": [
            int(generator.integers(0, 10, dtype=np.uint32)) for _ in range(3)
        ],
        "standard_normal()": [float(generator.standard_normal()) for _ in range(3)],
    }
