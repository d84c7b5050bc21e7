"""Clients and servers of neighbouring minor versions work together; others get a warning."""

from __future__ import annotations

import logging

import pytest

import envwire.client
import envwire.server
from envwire.client._transports import versions


@pytest.mark.parametrize(
    ("served", "own", "fits"),
    [
        ("0.1.0", "0.1.9", True),
        ("0.2.0", "0.1.0", True),
        ("0.1.0", "0.2.0rc1", True),
        ("0.3.0", "0.1.0", False),
        ("1.0.0", "0.9.0", False),
        ("", "0.1.0", True),
        ("0.9.0", "", True),
        ("a kit's own", "0.1.0", True),
    ],
)
def test_which_versions_fit(served: str, own: str, fits: bool) -> None:
    assert (versions.complaint(served, own) is None) is fits


def test_it_is_told_once_for_a_server(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(versions, "__version__", "0.1.0")
    with caplog.at_level(logging.WARNING, "envwire.client"):
        for _ in range(2):
            versions.check_version("far.test:1", "0.7.2")
    [text] = [each for each in caplog.messages if each.startswith("far.test:1")]
    assert text == (
        "far.test:1: the server runs envwire 0.7.2, and this client is 0.1.0: they are compatible at most one minor "
        "version apart. Install envwire 0.7 here, or 0.1 there"
    )


def test_programs_can_ask_for_the_version() -> None:
    assert envwire.client.__version__ == versions.__version__ == envwire.server.__version__
    assert envwire.client.__version__.count(".") == 2
