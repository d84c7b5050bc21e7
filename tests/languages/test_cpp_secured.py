"""The C++ library with TLS, client certificates and tokens."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from envwire.server import Server
from tests.faults.wire import Wire
from tests.languages.programs import running
from tests.languages.rollouts import CASES, IDS, SEED, SETTINGS, STEPS, cuts, expected
from tests.languages.test_client import rollout
from tests.languages.values import value_hex
from tests.secured import certificates, strict


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server(IDS, **SETTINGS, **strict().settings) as started:
        yield started


@pytest.fixture
def variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shows the client's programs its certificate and token."""
    strict().enter(monkeypatch)


def refusal(target: str, transport: str) -> str:
    """Has the client make an environment; returns why it cannot."""
    lines = [target, transport, CASES["dict"].env_id, value_hex({}), 0, SEED, 1, "", ""]
    with running("cpp", "rollout") as process:
        output, _ = process.communicate("\n".join(map(str, lines)), timeout=60)
    return output.splitlines()[-1]


@pytest.mark.usefixtures("variables")
@pytest.mark.parametrize("transport", ["unary", "stream", "direct", "direct-tcp"])
def test_a_rollout_is_the_local_one(server: Server, transport: str) -> None:
    actions, outcomes = expected(CASES["dict"])
    assert rollout("cpp", server.target, transport, CASES["dict"], actions).outcomes == outcomes


@pytest.mark.usefixtures("variables")
def test_a_token_is_needed(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENVWIRE_TOKEN", "a token that nobody knows")
    assert refusal(server.target, "unary") == "refused UNAUTHENTICATED"


@pytest.mark.usefixtures("variables")
def test_another_authority_is_not_trusted(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENVWIRE_CA", str(certificates().path("other-ca")))
    assert refusal(server.target, "unary") == "refused UNAVAILABLE"


@pytest.mark.usefixtures("variables")
@pytest.mark.parametrize("transport", ["stream", "direct-tcp"])
def test_no_step_is_lost_while_connections_are_cut(transport: str) -> None:
    actions, outcomes = expected(CASES["dict"], 2 * STEPS)
    with (
        Wire(SEED) as wire,
        Server(IDS, **SETTINGS, **strict().settings, **wire.settings) as _,
        cuts(wire) as start,
    ):
        seen = rollout("cpp", wire.target, transport, CASES["dict"], actions, made=start)
    assert seen.outcomes == outcomes
    assert seen.resumed > 0
