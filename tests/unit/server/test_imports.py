"""What importing a module loads, in a fresh process."""

from __future__ import annotations

import subprocess
import sys


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
