"""Step time of each recipe of environments, for clients that choose how many environments to step together."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable

from envwire.server._front.sessions.recipe import recipe_of
from envwire.server._front.sessions.record import SessionRecord
from envwire.v1 import environment_pb2 as pb

#: Modules of environments known to be cheap before any session of them was measured. A step of most of them takes 3 to
#: 15 us on one core of a 2.5 GHz Xeon, with the wrappers of `make`. Acrobot takes 24 and 47.
_CHEAP = ("envwire.envs.envs.", "gymnasium.envs.classic_control.", "gymnasium.envs.toy_text.")
_CHEAP_SECONDS = 8e-6
#: Steps whose mean counts, since the first step takes a hundred times as long as the others.
_LEAST_STEPS = 200
#: Means that are kept of a recipe. The smallest counts, since other programs can only add to the time.
_MEANS = 32
#: Recipes that are kept, the last measured.
_RECIPES = 1024


class StepTimes:
    """Step time by recipe: the smallest of the last means of its sessions, so that it follows what a step costs now.

    Args:
        listed: The environments that the server makes.
    """

    def __init__(self, listed: Iterable[pb.EnvironmentListing]) -> None:
        self._means: dict[bytes, deque[float]] = {}
        #: Steps and nanoseconds of each session up to which its steps are part of a mean.
        self._counted: dict[str, tuple[int, int]] = {}
        self._known = {
            listing.spec.id: _CHEAP_SECONDS
            for listing in listed
            if listing.spec.entry_point.startswith(_CHEAP)
        }

    def of(self, make: pb.MakeRequest) -> float | None:
        """Returns the time of a step in seconds of an environment that is made so; None if unknown."""
        if means := self._means.get(recipe_of(make)):
            return min(means)
        return None if make.wrappers else self._known.get(make.env_id)

    def update(self, sessions: Iterable[SessionRecord]) -> None:
        """Adds the means of the steps since the last update."""
        counted: dict[str, tuple[int, int]] = {}
        found: dict[bytes, float] = {}
        for session in sessions:
            if session.as_arrays:
                continue
            steps, nanoseconds = self._counted.get(session.id, (0, 0))
            if session.steps - steps >= _LEAST_STEPS:
                stepping = session.counters.stepping
                mean = (stepping - nanoseconds) / 1e9 / (session.steps - steps)
                found[session.recipe] = min(mean, found.get(session.recipe, math.inf))
                steps, nanoseconds = session.steps, stepping
            counted[session.id] = steps, nanoseconds
        self._counted = counted
        for recipe, mean in found.items():
            means = self._means.pop(recipe, None) or deque(maxlen=_MEANS)
            means.append(mean)
            self._means[recipe] = means
        while len(self._means) > _RECIPES:
            del self._means[next(iter(self._means))]
