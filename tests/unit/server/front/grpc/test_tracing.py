"""Tracing is off by default, and names missing packages. `make test-otel` tests the spans."""

from __future__ import annotations

from typing import Any

import pytest

from envwire.server._front.grpc import tracing
from envwire.server.config import ServerConfig


def test_nothing_is_traced_unless_it_is_asked_for() -> None:
    def exchange(*_: Any, **__: Any) -> Any:
        raise AssertionError

    assert tracing.tracing(exchange, ServerConfig(["CartPole-v1"], otel_steps=1.0)) is None


@pytest.mark.parametrize("missing", ["opentelemetry", "opentelemetry.exporter"])
def test_a_missing_package_is_named_with_the_extra(
    monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    def find(name: str) -> object:
        if name.startswith(missing):
            raise ModuleNotFoundError(name)
        return name

    monkeypatch.setattr(tracing, "find_spec", find)
    with pytest.raises(OSError, match=r"--otel needs: pip install 'envwire\[otel\]'") as caught:
        tracing.check_installed(ServerConfig(["CartPole-v1"], otel=True))
    assert missing in str(caught.value)
    tracing.check_installed(ServerConfig(["CartPole-v1"]))


@pytest.mark.parametrize("part", [-0.1, 1.1, float("nan")])
def test_a_part_is_from_0_to_1(part: float) -> None:
    with pytest.raises(ValueError, match="otel_steps"):
        ServerConfig(["CartPole-v1"], otel_steps=part)
