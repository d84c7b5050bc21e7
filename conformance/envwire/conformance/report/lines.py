"""Text reports: one line per check, more for a failure, and a badge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from envwire.conformance.sections import section_of
from envwire.conformance.suite.checks import Description, Level
from envwire.conformance.suite.runner import Outcome, Result

_MARKS = {
    Outcome.PASSED: "ok  ",
    Outcome.FAILED: "FAIL",
    Outcome.SKIPPED: "skip",
    Outcome.KNOWN: "known",
    Outcome.FIXED: "FIXED",
}


def line(result: Result) -> str:
    """Returns the line of a check, with details below it for a failure."""
    check = result.check
    proves = f"{section_of(check.proves[0])}: {' '.join(check.proves)}"
    first = f"{_MARKS[result.outcome]} {check.name}  ({proves})"
    return "\n".join([first, *_below(result)])


def _below(result: Result) -> Iterator[str]:
    if result.outcome is Outcome.SKIPPED:
        yield f"       {result.text}"
    if result.outcome in {Outcome.FAILED, Outcome.KNOWN, Outcome.FIXED}:
        yield f"       {result.check.summary} ({result.check.level.value})"
        yield f"       expected: {result.text}"
        yield from (f"       {one}" for one in result.exchange)


def listing(checks: Iterable[Description]) -> Iterator[str]:
    """Yields a line for each check: name, profile, level, sentences, summary."""
    for check in checks:
        proves = " ".join(check.proves)
        yield f"{check.name}\t{check.profile}\t{check.level.value}\t{proves}\t{check.summary}"


@dataclass
class Counts:
    """Number of checks by profile and outcome.

    Attributes:
        outcomes: The number of checks of each profile and outcome.
        broken: Number of results that make the run fail.
        missing: Ids of environments for want of which required checks were skipped, in order.
    """

    outcomes: Counter[tuple[str, Outcome]] = field(default_factory=Counter[tuple[str, Outcome]])
    broken: int = 0
    missing: dict[str, None] = field(default_factory=dict[str, None])

    def add(self, result: Result) -> None:
        """Counts a result."""
        self.outcomes[result.check.profile, result.outcome] += 1
        self.broken += result.breaks
        if result.missing and result.check.level is Level.REQUIRED:
            self.missing[result.missing] = None


def needs(counts: Counts) -> Iterator[str]:
    """Yields a line that says which environments the server has to serve for the checks that were skipped."""
    if counts.missing:
        yield (
            f"required checks were skipped, because the server makes no {', '.join(counts.missing)}. Serve the suite's "
            "environments: `envwire serve 'Conformance/*'`; in C++, "
            "`envwire::Serve(envwire::ConformanceEnvironments())` of <envwire/conformance.hpp>; in TypeScript, "
            "`serve({ ...conformance })`. `envwire check ID --target HOST:PORT` checks an environment of your own"
        )


def badge(counts: Counts) -> str:
    """Returns the badge line: for each profile, how many of the checks run have passed, and how many were skipped."""
    profiles = list(dict.fromkeys(profile for profile, _ in counts.outcomes))
    parts = [part for profile in profiles if (part := _part(counts, profile))]
    verdict = "does not conform" if counts.broken else "conforms"
    if counts.missing and not counts.broken:
        verdict = "was not checked in full"
    return f"envwire.v1 {verdict}: {', '.join(parts) or 'nothing was checked'}"


def _part(counts: Counts, profile: str) -> str:
    passed = counts.outcomes[profile, Outcome.PASSED]
    made = sum(
        count
        for (name, outcome), count in counts.outcomes.items()
        if name == profile and outcome is not Outcome.SKIPPED
    )
    skipped = counts.outcomes[profile, Outcome.SKIPPED]
    rest = f" ({skipped} skipped)" if skipped else ""
    return f"{profile} {passed}/{made}{rest}" if made else ""
