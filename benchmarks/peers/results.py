"""Results: the rounds of each case, and statistics of them."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

#: For each client of one round, the number of its steps and the seconds that they took.
Round = list[tuple[int, float]]


@dataclass(frozen=True)
class Spread:
    """A median and the range of the values."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread | None:
        """Returns the spread of some values; None if there are none."""
        return cls(statistics.median(values), min(values), max(values)) if values else None


@dataclass
class Outcome:
    """One case in one group with a number of clients.

    Attributes:
        section: Key of the section.
        group: Name of the group.
        case: Name of the case.
        clients: How many clients stepped at once.
        num_envs: Environments in a batch.
        rounds: The result of each round.
        reason: Why it was not measured, or only in part.
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
        """For each round, the factor between the mean and the client that is farthest from it."""
        factors: list[float] = []
        for tallies in self.rounds:
            rates = [steps / took for steps, took in tallies]
            mean = statistics.fmean(rates)
            factors.append(max(max(rates) / mean, mean / min(rates)))
        return factors

    def times(self, floor: Outcome) -> list[float]:
        """Returns the ratio of this case's time to another case's, round by round."""
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
