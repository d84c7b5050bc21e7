"""What importing a module loads, in a fresh process."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points

import pytest

from envwire.server.cli._app import GROUP


def loaded_by(module: str) -> set[str]:
    """Returns the modules that a fresh process has after it imported one."""
    program = f"import sys, {module}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "module",
    ["envwire.server.cli._app", *(point.module for point in entry_points(group=GROUP))],
)
def test_help_is_fast_because_it_loads_nothing(module: str) -> None:
    heavy = {"numpy", "grpc", "google.protobuf", "asyncio", "envwire.codec", "envwire.client"}
    assert heavy & loaded_by(module) == set()


def test_the_core_loads_no_command_of_another_distribution() -> None:
    beside = ("envwire.farm.", "envwire.conformance", "envwire.dashboard", "envwire.openenv")
    assert [each for each in loaded_by("envwire.server.cli._app") if each.startswith(beside)] == []


def test_a_server_loads_no_certificates_before_somebody_shows_one() -> None:
    assert "cryptography" not in loaded_by("envwire.server.serving")


ROOMS = (
    "envwire.envs",
    "envwire.server._worker",
    "envwire.server._session",
    "envwire.server._hosting",
)


@pytest.mark.parametrize(
    "module", ["_front.front", "_front.grpc.grpc_server", "_auth.access", "serving"]
)
def test_the_front_loads_nothing_that_runs_environments(module: str) -> None:
    loaded = loaded_by(f"envwire.server.{module}")
    assert f"envwire.server.{module}" in loaded
    assert sorted(name for name in loaded if name.startswith(ROOMS)) == []
