"""The environment kits pass the profiles of `envwire conformance` that they claim."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pytest

import envwire.conformance.checks  # noqa: F401 - importing them is what lists them
from envwire.conformance.raw import Access
from envwire.conformance.suite import Selection
from envwire.conformance.suite.runner import Outcome, Runner
from tests.languages.programs import LANGUAGES, kit

#: A crash ends all sessions of a kit, and so it makes no `Conformance/Crash-v0`; it is one library, without wrappers;
#: `Conformance/Odd-v0` is made of what other languages do not have.
NOBODYS = {
    "makes.an-id-of-several-libraries-is-envwires[unary]",
    "makes.wrappers-are-put-around[unary]",
    "errors.a-crash-ends-one-session[unary]",
    "errors.the-last-words-of-a-process-travel[unary]",
    "endings.a-crash-ends-the-channel[direct]",
    "leases.a-make-has-a-limit-of-its-own[unary]",
    "makes.a-wrapper-may-have-noted-nothing[unary]",
    "spaces.a-space-of-another-class-makes-make-fail[unary]",
    "values.a-subclass-travels-as-what-it-extends[unary]",
    "values.a-subclass-travels-as-what-it-extends[stream]",
    "values.a-subclass-travels-as-what-it-extends[direct]",
}

#: Vectors of the kits have no wrappers, and step one member after another.
VECTORS_WITHOUT = {
    "vector_members.wrappers-go-around-each-member[unary]",
    "vector_members.an-own-form-has-attributes-once[unary]",
    "vector_members.an-own-form-tells-no-resets[unary]",
}


class Claim(NamedTuple):
    """The profiles that a kit passes, and the checks of them that are skipped."""

    profiles: Sequence[str]
    skipped: set[str]


PROFILES = (
    "core",
    "info",
    "stream",
    "attributes",
    "direct",
    "direct-make",
    "states",
    "replay",
    "vector",
)
CLAIMS = {
    # No step is stopped there.
    "cpp": Claim(
        (*PROFILES, "ops", "mailbox"),
        NOBODYS
        | VECTORS_WITHOUT
        | {"leases.a-request-has-its-time[unary]"}
        # It shares no memory for large frames.
        | {"mailbox.it-comes-behind-the-shared-memory[direct]"},
    ),
    # No samples of stacked sequences there.
    "typescript": Claim(
        PROFILES, NOBODYS | VECTORS_WITHOUT | {"spaces.a-space-is-described/stacked[unary]"}
    ),
}
FEW = (
    "steps.a-step-is-taken-once*",
    "values.a-broken-value*",
    "saved_states.*",
    "opening.a-bad*",
    "sequence.*",
    "secrets.*",
    "mailbox_wakes.half-a-wake*",
)


@pytest.fixture(scope="module", params=LANGUAGES)
def language(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def target(language: str) -> Iterator[str]:
    with kit(language) as served:
        yield served.target


def outcomes(target: str, profiles: Sequence[str], *run: str) -> dict[str, tuple[Outcome, str]]:
    """Returns what came of the checks that did not pass; the count of the others must not be 0."""
    results = list(Runner(Access(target), Selection(profiles, run), seconds=20.0).results())
    others = [one for one in results if one.outcome is not Outcome.PASSED]
    assert len(others) < len(results)
    return {one.check.name: (one.outcome, one.text) for one in others}


def test_a_kit_passes_a_few_checks(language: str, target: str) -> None:
    assert outcomes(target, CLAIMS[language].profiles, *FEW) == {}


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_kit_passes_its_profiles(language: str, target: str) -> None:
    profiles, skipped = CLAIMS[language]
    found = outcomes(target, profiles)
    assert {name: outcome for name, (outcome, _) in found.items()} == dict.fromkeys(
        skipped, Outcome.SKIPPED
    ), found
