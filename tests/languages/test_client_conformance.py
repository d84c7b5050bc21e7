"""The libraries play every scenario of `envwire conformance --client`."""

from __future__ import annotations

import pytest

from envwire.conformance.client import SCENARIOS, Scenario
from envwire.conformance.client.scenario_runner import ClientRunner
from envwire.conformance.suite.runner import Outcome
from tests.languages.programs import LANGUAGES, program

FEW = ("cuts.every-second-answer-is-lost", "errors.a-refused-make", "oddities.")


def plays(language: str, scenarios: list[Scenario]) -> None:
    found = {
        result.check.name: (result.outcome, result.text)
        for result in ClientRunner(program(language, "conformance"), scenarios).results()
    }
    assert found == {one.name: (Outcome.PASSED, "") for one in scenarios}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_client_plays_a_few_scenarios(language: str) -> None:
    plays(language, [one for one in SCENARIOS if one.name.startswith(FEW)])


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_client_plays_all_scenarios(language: str) -> None:
    plays(language, SCENARIOS)
