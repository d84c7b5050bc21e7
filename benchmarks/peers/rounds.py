"""Measures a group: all its cases run, and their rounds take turns, so that noise affects all alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from benchmarks.peers.plan import Group
from benchmarks.peers.results import Outcome
from benchmarks.peers.running import STOP, CaseFailedError, RunningCase


@dataclass(frozen=True)
class Effort:
    """How much to measure.

    Attributes:
        rounds: Rounds of each case.
        seconds: Length of a round.
        core: The core to keep clients and servers on, or None.
    """

    rounds: int
    seconds: float
    core: int | None = None


class Measured:
    """A running case and its rounds so far; the first failure ends it, and is its result."""

    def __init__(self, running: RunningCase, outcomes: dict[int, Outcome]) -> None:
        self.running = running
        self.outcomes = outcomes
        self.failed = False

    def attempt(self, action: Callable[[], None]) -> None:
        """Runs an action unless the case failed before; records a failure."""
        if self.failed:
            return
        try:
            action()
        except CaseFailedError as error:
            self.failed = True
            for outcome in self.outcomes.values():
                outcome.reason = str(error)

    def measure(self, clients: int, seconds: float, keep: bool) -> None:
        """Runs one round.

        Raises:
            CaseFailedError: It failed.
        """
        tallies = self.running.run(clients, seconds)
        if keep:
            self.outcomes[clients].rounds.append(tallies)


@contextmanager
def _started(everything: list[Measured]) -> Generator[None]:
    """Starts all servers at once, then all workers; always ends every process."""
    try:
        for start in (RunningCase.launch, RunningCase.connect, RunningCase.wait):
            for one in everything:
                one.attempt(partial(start, one.running))
        yield
    finally:
        for one in everything:
            one.running.hang_up()
        deadline = time.monotonic() + STOP
        for one in everything:
            one.running.end(deadline)


def measure(
    section: str, group: Group, effort: Effort, rounds: Callable[[], Iterable[int]]
) -> list[Outcome]:
    """Measures a group.

    Args:
        section: Key of its section.
        group: The group.
        effort: How much to measure.
        rounds: Called when all is ready; gives the numbers of the rounds, and may show progress meanwhile.

    Returns:
        One outcome for each case and number of clients.
    """
    everything = [
        Measured(
            RunningCase(case, effort.core),
            {
                count: Outcome(section, group.name, case.name, count, case.setup.num_envs)
                for count in group.clients
            },
        )
        for case in group.cases
    ]
    seconds = effort.seconds * group.stretch
    with _started(everything):
        _turns(everything, group.clients, seconds, keep=False)
        for _ in rounds():
            _turns(everything, group.clients, seconds, keep=True)
    return [outcome for one in everything for outcome in one.outcomes.values()]


def _turns(
    everything: list[Measured], clients: tuple[int, ...], seconds: float, *, keep: bool
) -> None:
    for count in clients:
        for one in everything:
            one.attempt(partial(one.measure, count, seconds, keep))
