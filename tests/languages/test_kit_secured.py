"""The environment kits with TLS, client certificates and tokens."""

from __future__ import annotations

import pytest

import envwire.conformance.checks  # noqa: F401 - importing them is what lists them
from envwire.conformance.raw import Access
from envwire.conformance.suite import Selection
from envwire.conformance.suite.runner import Outcome, Runner
from tests.languages.programs import LANGUAGES, kit
from tests.secured import certificates


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_kit_asks_for_a_token_and_a_certificate(
    language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    variables = {
        "ENVWIRE_TOKEN": "a token of the operator",
        "ENVWIRE_CA": str(certificates().path("ca")),
        "ENVWIRE_CERT": str(certificates().path("server")),
        "ENVWIRE_KEY": str(certificates().path("server-key")),
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    client = certificates()
    with kit(language) as server:
        access = Access(
            server.target,
            variables["ENVWIRE_TOKEN"],
            *(str(client.path(name)) for name in ("ca", "client", "client-key")),
        )
        selection = Selection(profiles=["auth", "tls"])
        results = list(Runner(access, selection, seconds=20.0).results())
    assert len(results) > 0
    assert [(one.check.name, one.text) for one in results if one.outcome is Outcome.FAILED] == []
