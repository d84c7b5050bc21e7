"""Mirrors the environment's random number generator to its client."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from envwire.codec import (
    CodecError,
    decode_random_state,
    encode_random_state,
    encode_value,
    restore_random_state,
)
from envwire.v1 import environment_pb2, spaces_pb2


def mirror(env: Any, message: environment_pb2.RandomMirror) -> None:
    """Fills `message` with the state and seed of the innermost environment's generator, creating neither."""
    bare = env.unwrapped
    generator = getattr(bare, "_np_random", None)
    if isinstance(generator, np.random.Generator):
        with contextlib.suppress(
            CodecError
        ):  # a bit generator of somebody's own has no name on the other side
            encode_random_state(generator, message.np_random)
    seed = getattr(bare, "_np_random_seed", None)
    if seed is not None:
        encode_value(seed, message.np_random_seed, "np_random_seed", opaque=True)


def restore(env: Any, state: spaces_pb2.RandomState) -> None:
    """Gives the environment's generator the client's state, in place where the generators are of one kind.

    In place, because the environment may have handed the generator to others.
    """
    bare = env.unwrapped
    generator = getattr(bare, "_np_random", None)
    if (
        isinstance(generator, np.random.Generator)
        and type(generator.bit_generator).__name__ == state.bit_generator
    ):
        restore_random_state(state, generator)
    else:
        bare.np_random = decode_random_state(state)
