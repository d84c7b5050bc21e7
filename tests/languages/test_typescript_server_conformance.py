"""The TypeScript environment kit passes the profiles of `envwire conformance` that it claims."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import envwire.conformance.checks  # noqa: F401 - importing them is what lists them
from envwire.conformance.raw import Access
from envwire.conformance.suite import Selection
from envwire.conformance.suite.runner import Outcome, Runner
from tests.languages.typescript import running

PROFILES = ("core", "stream", "direct", "states")
#: What the kit has nothing for: wrappers, samples of stacked sequences, a process for each session.
SKIPPED = {
    "makes.wrappers-are-put-around[unary]",
    "spaces.a-space-is-described/stacked[unary]",
    "errors.a-crash-ends-one-session[unary]",
    "errors.the-last-words-of-a-process-travel[unary]",
    "endings.a-crash-ends-the-channel[direct]",
}
FEW = ("steps.a-step-is-taken-once*", "values.a-broken-value*", "saved_states.*", "opening.a-bad*")


@pytest.fixture(scope="module")
def target() -> Iterator[str]:
    with running("serve_conformance") as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()


def outcomes(target: str, *run: str) -> dict[str, tuple[Outcome, str]]:
    """Returns what came of the checks that did not pass; the count of the others must not be 0."""
    results = list(Runner(Access(target), Selection(PROFILES, run), seconds=20.0).results())
    others = [one for one in results if one.outcome is not Outcome.PASSED]
    assert len(others) < len(results)
    return {one.check.name: (one.outcome, one.text) for one in others}


def test_the_kit_passes_a_few_checks(target: str) -> None:
    assert outcomes(target, *FEW) == {}


@pytest.mark.long
@pytest.mark.timeout(600)
def test_the_kit_passes_its_profiles(target: str) -> None:
    found = outcomes(target)
    assert {name: outcome for name, (outcome, _) in found.items()} == dict.fromkeys(
        SKIPPED, Outcome.SKIPPED
    ), found
