"""The Python server passes every check, and is skipped by none."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from envwire.conformance.checks import CHECKS
from envwire.conformance.raw import Access
from envwire.conformance.suite import Check, Selection
from envwire.conformance.suite.runner import Outcome, Runner
from envwire.server import Server
from tests.conformance.conftest import CHECKED
from tests.secured import strict

#: Checks that wait for long.
SLOW = ("leases.", "opening.an-unfinished")
SECURED = {"auth", "tls"}
#: Those that a server with tokens and TLS is checked with besides.
ALSO_SECURED = ("steps.", "direct_makes.", "frames.an-array", "streams.", "health.the-server")


def marked(checks: list[Check]) -> list[object]:
    return [
        pytest.param(check, id=check.name, marks=[pytest.mark.long] if slow(check) else [])
        for check in checks
    ]


def slow(check: Check) -> bool:
    """Tells of checks that wait for long, and of those that unary calls were checked with already."""
    elsewhere = check.name.replace(f"[{check.link}]", "[unary]")
    repeated = check.link != "unary" and any(other.name == elsewhere for other in CHECKS)
    return repeated or check.name.startswith(SLOW)


def passes(check: Check, access: Access) -> None:
    selection = Selection(profiles=[check.profile], run=[check.name])
    (result,) = Runner(access, selection, seconds=20.0).results()
    assert result.outcome is Outcome.PASSED, "\n".join([result.text, *result.exchange])


@pytest.fixture(scope="module")
def secured() -> Iterator[Access]:
    """What opens a server that asks for certificates and tokens."""
    with Server(["Conformance/*"], **strict().settings, **CHECKED) as server:
        shown = (strict().variables[f"ENVWIRE_{name}"] for name in ("TOKEN", "CA", "CERT", "KEY"))
        yield Access(server.target, *shown)


@pytest.mark.parametrize("check", marked([one for one in CHECKS if one.profile not in SECURED]))
def test_the_server_passes(checked: Server, check: Check) -> None:
    passes(check, Access(checked.target))


@pytest.mark.parametrize(
    "check",
    marked([one for one in CHECKS if one.profile in SECURED or one.name.startswith(ALSO_SECURED)]),
)
def test_a_server_with_tokens_and_tls_passes(secured: Access, check: Check) -> None:
    passes(check, secured)
