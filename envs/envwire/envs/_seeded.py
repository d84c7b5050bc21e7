"""The generator that environments and vector environments draw their random numbers from."""

from __future__ import annotations

import numpy as np

from envwire.envs.utils import seeding


class Seeded:
    """An object with a random number generator, made when it is first needed."""

    _np_random: np.random.Generator | None = None
    _np_random_seed: int | None = None

    @property
    def np_random(self) -> np.random.Generator:
        """The random number generator, seeded from entropy if no seed was given."""
        if self._np_random is None:
            self._np_random, self._np_random_seed = seeding.np_random()
        return self._np_random

    @np_random.setter
    def np_random(self, value: np.random.Generator) -> None:
        self._np_random = value
        self._np_random_seed = -1  # a generator does not reveal its seed

    @property
    def np_random_seed(self) -> int:
        """The seed of `np_random`, or -1 if the generator was assigned."""
        if self._np_random_seed is None:
            self._np_random, self._np_random_seed = seeding.np_random()
        return self._np_random_seed
