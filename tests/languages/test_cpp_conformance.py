"""The C++ library plays every scenario of `envwire conformance-client`."""

from __future__ import annotations

import pytest

from envwire.conformance.client import SCENARIOS, Scenario
from envwire.conformance.client.runner import ClientRunner
from envwire.conformance.suite.runner import Outcome
from tests.languages.cpp import program

FEW = ("cuts.every-second-answer-is-lost", "errors.a-refused-make", "oddities.")


def plays(scenarios: list[Scenario]) -> None:
    found = {
        result.check.name: (result.outcome, result.text)
        for result in ClientRunner([program("conformance")], scenarios).results()
    }
    assert found == {one.name: (Outcome.PASSED, "") for one in scenarios}


def test_cpp_plays_a_few_scenarios() -> None:
    plays([one for one in SCENARIOS if one.name.startswith(FEW)])


@pytest.mark.long
@pytest.mark.timeout(600)
def test_cpp_plays_all_scenarios() -> None:
    plays(SCENARIOS)
