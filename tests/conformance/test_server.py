"""The Python server passes every check, and is skipped by none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from envwire.conformance.checks import CHECKS
from envwire.conformance.raw import Access
from envwire.conformance.suite import Check, Selection
from envwire.conformance.suite.runner import Outcome, Result, Runner
from envwire.server import Server
from envwire.server._auth.scopes import Scope
from tests.conformance.conftest import CHECKED
from tests.secured import strict, write_tokens

#: Checks that wait for long.
SLOW = ("leases.", "opening.an-unfinished", "frames.who-does")
SECURED = {"auth", "tls"}
#: Those that a server with tokens and TLS is checked with besides.
ALSO_SECURED = ("steps.", "direct_makes.", "frames.an-array", "streams.", "health.the-server")


def marked(checks: list[Check]) -> list[object]:
    return [pytest.param(check, id=check.name, marks=list(marks(check))) for check in checks]


def marks(check: Check) -> Iterator[pytest.MarkDecorator]:
    if slow(check):
        yield pytest.mark.long
    if check.profile == "mailbox":  # a server on a busy machine sleeps, and does not look into it
        yield pytest.mark.serial


def slow(check: Check) -> bool:
    """Tells of checks that wait for long, and of those that unary calls were checked with already."""
    elsewhere = check.name.replace(f"[{check.link}]", "[unary]")
    repeated = check.link != "unary" and any(other.name == elsewhere for other in CHECKS)
    return repeated or check.name.startswith(SLOW)


def made(check: Check, access: Access) -> Result:
    selection = Selection(profiles=[check.profile], run=[check.name])
    (result,) = Runner(access, selection, seconds=20.0).results()
    return result


def passes(check: Check, access: Access) -> None:
    result = made(check, access)
    assert result.outcome is Outcome.PASSED, "\n".join([result.text, *result.exchange])


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Access]:
    """What opens a server that asks for certificates and tokens."""
    path = tmp_path_factory.mktemp("secured") / "tokens"
    tokens = write_tokens(path, {"player": [Scope.PLAY], "observer": [Scope.OBSERVE]})
    settings = strict().settings | {"tokens": path}
    with Server(["Conformance/*"], **settings, **CHECKED) as server:
        ca, cert, key = (strict().variables[f"ENVWIRE_{name}"] for name in ("CA", "CERT", "KEY"))
        yield Access(server.target, tokens["player"], ca, cert, key, tokens["observer"])


@pytest.mark.parametrize(
    "check", marked([one for one in CHECKS if one.profile not in {*SECURED, "operator", "drain"}])
)
def test_the_server_passes(checked: Server, check: Check) -> None:
    passes(check, Access(checked.target))


@pytest.mark.parametrize("check", marked([one for one in CHECKS if one.profile in SECURED]))
def test_a_server_with_tokens_and_tls_passes(secured: Access, check: Check) -> None:
    passes(check, secured)


@pytest.mark.slow
@pytest.mark.parametrize(
    "check", marked([one for one in CHECKS if one.name.startswith(ALSO_SECURED)])
)
def test_tokens_and_tls_change_nothing_else(secured: Access, check: Check) -> None:
    passes(check, secured)


def test_an_observer_that_plays_is_found(secured: Access) -> None:
    (check,) = (one for one in CHECKS if one.name == "access.an-observer-does-not-play[unary]")
    playing = replace(secured, observe_token=secured.token)
    assert made(check, playing).outcome is Outcome.FAILED


def test_a_server_that_is_told_to_stop_passes() -> None:
    (check,) = (one for one in CHECKS if one.profile == "drain")
    assert CHECKS[-1] is check
    with Server(["Conformance/*"], drain_timeout=30.0) as server:
        passes(check, Access(server.target, stop=f"kill {server.pid}"))
