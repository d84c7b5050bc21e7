"""Mirrors the environment's random number generator on the client, from the first time it is read.

Wrappers on the client draw from `env.np_random`, which has to be the environment's own generator: numbers drawn here
must not be drawn again there. Nothing is exchanged until the first read. From then on the state is sent with the next
call if it changed here, and comes back with every answer.
"""

from __future__ import annotations

import copy

import numpy as np

from envwire.codec import (
    Family,
    decode_random_state,
    decode_value,
    encode_random_state,
    restore_random_state,
)
from envwire.v1 import environment_pb2, spaces_pb2


class MirroredRandom:
    """The mirror.

    Attributes:
        active: Whether the generator has been read.
        generator: The generator; always the same object as long as its kind does not change.
        seed: The environment's `np_random_seed`; -1 when the generator was set directly.
    """

    def __init__(self, family: Family) -> None:
        self._family = family
        self._synchronised: spaces_pb2.RandomState | None = None
        self.active = False
        self.generator: np.random.Generator | None = None
        self.seed: int | None = None

    def absorb(self, mirror: environment_pb2.RandomMirror) -> None:
        """Sets the generator to the state that the environment's is in."""
        self.active = True
        if mirror.HasField("np_random"):
            self._take(mirror.np_random)
        if mirror.HasField("np_random_seed") and self.seed != -1:
            self.seed = decode_value(mirror.np_random_seed, self._family)

    def _take(self, state: spaces_pb2.RandomState) -> None:
        kind = type(self.generator.bit_generator).__name__ if self.generator is not None else ""
        if self.generator is not None and kind == state.bit_generator:
            restore_random_state(state, self.generator)
        else:
            self.generator = decode_random_state(state)
        self._synchronised = self._state()

    def replace(self, generator: np.random.Generator) -> None:
        """Replaces the generator by the caller's; its state is sent with the next call."""
        self.active, self.generator, self.seed = True, generator, -1
        self._synchronised = None

    def draw_again(self, state: spaces_pb2.RandomState | None) -> None:
        """Restores the state after draws on the client; None when there were none."""
        if state is not None and self.generator is not None:
            restore_random_state(state, self.generator)

    def copy(self) -> MirroredRandom:
        """Returns a mirror of another environment whose generator is in the same state."""
        twin = MirroredRandom(self._family)
        twin.active, twin.seed = self.active, self.seed
        twin.generator = copy.deepcopy(self.generator)
        twin._synchronised = self._synchronised
        return twin

    def reseeded(self) -> None:
        """Records that the environment is about to be seeded, so that its seed is known again."""
        self.seed = None

    def changed(self) -> spaces_pb2.RandomState | None:
        """Returns the state to send: None when nothing was drawn here since the last exchange."""
        state = self._state()
        return None if state == self._synchronised else state

    def known(self) -> spaces_pb2.RandomState | None:
        """Returns the state that the environment's generator is in, if it is mirrored."""
        return self._state() if self.active else None

    def _state(self) -> spaces_pb2.RandomState | None:
        if self.generator is None:
            return None
        message = spaces_pb2.RandomState()
        encode_random_state(self.generator, message)
        return message
