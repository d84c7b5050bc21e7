"""What was measured: the rounds of each case, and the numbers that are read from them."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

#: For each client of one round, the steps it made and the seconds they took.
Round = list[tuple[int, float]]


@dataclass(frozen=True)
class Spread:
    """A median and the range it came from."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread | None:
        """Returns the spread of some values; None if there are none."""
        return cls(statistics.median(values), min(values), max(values)) if values else None


@dataclass
class Outcome:
    """One case in one group with so many clients.

    Attributes:
        section: Key of the section.
        group: Name of the group.
        case: Name of the case.
        clients: How many clients stepped at once.
        num_envs: Environments in a batch.
        rounds: What each round gave.
        reason: Why it was not measured, or not to the end.
    """

    section: str
    group: str
    case: str
    clients: int = 1
    num_envs: int = 1
    rounds: list[Round] = field(default_factory=list[Round])
    reason: str = ""

    @property
    def seconds(self) -> list[float]:
        """Seconds a call in each round, over all clients together."""
        return [1 / sum(steps / took for steps, took in tallies) for tallies in self.rounds]

    @property
    def unfairness(self) -> list[float]:
        """For each round, by what factor the client farthest from the mean is away from it."""
        factors: list[float] = []
        for tallies in self.rounds:
            rates = [steps / took for steps, took in tallies]
            mean = statistics.fmean(rates)
            factors.append(max(max(rates) / mean, mean / min(rates)))
        return factors

    def times(self, floor: Outcome) -> list[float]:
        """Returns how often the time of another case fits into this one's, round by round."""
        # A case that failed on the way has fewer rounds.
        return [mine / its for mine, its in zip(self.seconds, floor.seconds, strict=False)]


class Results:
    """All outcomes of a run, by section, group, case and clients."""

    def __init__(self, outcomes: Sequence[Outcome]) -> None:
        self.outcomes = list(outcomes)
        self._index = {(o.section, o.group, o.case, o.clients): o for o in outcomes}

    def get(self, section: str, group: str, case: str, clients: int = 1) -> Outcome:
        """Returns an outcome; an empty one if it was not measured."""
        empty = Outcome(section, group, case, clients, reason="not measured")
        return self._index.get((section, group, case, clients), empty)

    def to_list(self) -> list[dict[str, Any]]:
        """Returns the raw numbers, for JSON."""
        return [
            {
                "section": o.section,
                "group": o.group,
                "case": o.case,
                "clients": o.clients,
                "num_envs": o.num_envs,
                "reason": o.reason,
                "rounds": o.rounds,
            }
            for o in self.outcomes
        ]
