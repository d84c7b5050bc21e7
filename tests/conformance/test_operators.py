"""The Python server enforces its operator's settings, and the checks detect a server with other settings."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from envwire.conformance.checks import CHECKS
from envwire.conformance.raw import Access, Operator
from envwire.conformance.suite import Check, Selection
from envwire.conformance.suite.runner import Outcome, Result, Runner
from envwire.server import Server
from envwire.server._auth.scopes import Scope
from tests.secured import write_tokens

OPERATORS = [one for one in CHECKS if one.profile == "operator"]
EACH = pytest.mark.parametrize("check", OPERATORS, ids=[one.name for one in OPERATORS])


def made(check: Check, access: Access) -> Result:
    selection = Selection(profiles=[check.profile], run=[check.name])
    (result,) = Runner(access, selection, seconds=10.0).results()
    return result


@pytest.fixture(scope="module")
def obeyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Access]:
    """What opens a server on the terms of a public address, and what its operator did."""
    directory = tmp_path_factory.mktemp("operator")
    tokens, recordings = directory / "tokens", directory / "recordings"
    shown = write_tokens(tokens, {"player": [Scope.PLAY], "guest": [Scope.PLAY]})
    operator = Operator(
        lists=True,
        sessions_per_client=3,
        makes_per_minute=25,
        recordings=str(recordings),
        withdraw=shlex.join(["sed", "-i", "s/^guest/# guest/", str(tokens)]),
        withdrawn_token=shown["guest"],
    )
    with Server(
        ["Conformance/*"],
        public=True,
        insecure=True,
        tokens=tokens,
        allow_kwargs=["Conformance/Odd-v0=seconds:float[0..1]"],
        allow_attributes=["length"],
        max_sessions_per_client=operator.sessions_per_client,
        max_makes_per_minute=operator.makes_per_minute,
        record=str(recordings),
    ) as server:
        yield Access(server.target, shown["player"], operator=operator)


@EACH
def test_an_operator_is_obeyed(obeyed: Access, check: Check) -> None:
    result = made(check, obeyed)
    assert result.outcome is Outcome.PASSED, "\n".join([result.text, *result.exchange])


@EACH
def test_an_operator_who_is_not_obeyed_is_found(
    checked: Server, obeyed: Access, check: Check, tmp_path: Path
) -> None:
    unheard = replace(
        obeyed.operator,
        recordings=str(tmp_path),
        withdraw="true",
        sessions_per_client=2,
        makes_per_minute=3,
    )
    result = made(check, Access(checked.target, operator=unheard))
    assert result.outcome is Outcome.FAILED, result.text


@EACH
def test_what_the_operator_did_not_do_is_skipped(checked: Server, check: Check) -> None:
    result = made(check, Access(checked.target))
    assert result.outcome is Outcome.SKIPPED
    assert "[operator] has no" in result.text
