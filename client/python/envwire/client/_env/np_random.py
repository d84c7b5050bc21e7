"""Mirrors the environment's random number generator on the client, from the first time it is read.

Wrappers on the client draw from `env.np_random`, which has to be the environment's own generator: a number drawn here
must not be drawn again on the server. Nothing is exchanged until the first read. From then on, the state is sent with
the next call if it changed here, and is returned with every answer.
"""

from __future__ import annotations

import copy

import numpy as np

from envwire.client.errors import InvalidRequestError
from envwire.codec import (
    Family,
    decode_random_state,
    decode_value,
    encode_random_state,
    restore_random_state,
)
from envwire.v1 import environment_pb2, spaces_pb2


class MirroredRandom:
    """The mirror of one environment's generator.

    Attributes:
        active: Whether the generator has been read.
        generator: The generator; the same object as long as its bit generator's class does not change.
        seed: The environment's `np_random_seed`; -1 if the generator was set directly.
    """

    def __init__(self, family: Family) -> None:
        self._family = family
        self._synchronised: spaces_pb2.RandomState | None = None
        self.active = False
        self.generator: np.random.Generator | None = None
        self.seed: int | None = None

    def absorb(self, mirror: environment_pb2.RandomMirror) -> None:
        """Sets the generator to the state that an answer reports."""
        self.active = True
        if mirror.HasField("np_random"):
            state, known = mirror.np_random, self.generator
            if known is not None and type(known.bit_generator).__name__ == state.bit_generator:
                restore_random_state(state, known)
            else:
                self.generator = decode_random_state(state)
            self._synchronised = self._state()
        if mirror.HasField("np_random_seed") and self.seed != -1:
            self.seed = decode_value(mirror.np_random_seed, self._family)

    def follow(self, mirror: environment_pb2.RandomMirror) -> None:
        """Takes the state that the generator has on the server, if it changed there since the last exchange."""
        if mirror.np_random != self._synchronised:
            self.absorb(mirror)

    def replace(self, generator: object) -> None:
        """Replaces the generator; the state of the new one is sent with the next call.

        Raises:
            InvalidRequestError: It is no generator of NumPy.
        """
        if not isinstance(generator, np.random.Generator):
            raise InvalidRequestError(
                f"np_random is a {type(generator).__name__}; expected a numpy.random.Generator"
            )
        self.active, self.generator, self.seed = True, generator, -1
        self._synchronised = None

    def draw_again(self, state: spaces_pb2.RandomState | None) -> None:
        """Restores the state that the generator had after draws on the client; does nothing for None."""
        if state is not None and self.generator is not None:
            restore_random_state(state, self.generator)

    def copy(self) -> MirroredRandom:
        """Returns a mirror with a generator in the same state, for a copy of the environment."""
        clone = copy.copy(self)
        clone.generator = copy.deepcopy(self.generator)
        return clone

    def changed(self) -> spaces_pb2.RandomState | None:
        """Returns the state to send: None if nothing was drawn here since the last exchange."""
        state = self._state()
        return None if state == self._synchronised else state

    def _state(self) -> spaces_pb2.RandomState | None:
        if self.generator is None:
            return None
        message = spaces_pb2.RandomState()
        encode_random_state(self.generator, message)
        return message
