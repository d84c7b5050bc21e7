"""What importing a module loads, in a fresh process."""

from __future__ import annotations

import subprocess
import sys

import pytest


def loaded_by(module: str) -> set[str]:
    """Returns the modules that a fresh process has after it imported one."""
    program = f"import sys, {module}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    return set(done.stdout.split())


def test_help_is_fast_because_it_loads_nothing() -> None:
    heavy = {"numpy", "grpc", "google.protobuf", "asyncio", "envwire.codec", "envwire.client"}
    assert heavy & loaded_by("envwire.server.cli._app") == set()


def test_a_server_loads_no_certificates_before_somebody_shows_one() -> None:
    assert "cryptography" not in loaded_by("envwire.server.serving")


ROOMS = (
    "envwire.envs",
    "envwire.server._worker",
    "envwire.server._session",
    "envwire.server._hosting",
)


@pytest.mark.parametrize(
    "module", ["_front.front", "_front.grpc.server", "_auth.access", "serving"]
)
def test_the_front_loads_nothing_that_runs_environments(module: str) -> None:
    loaded = loaded_by(f"envwire.server.{module}")
    assert f"envwire.server.{module}" in loaded
    assert sorted(name for name in loaded if name.startswith(ROOMS)) == []
