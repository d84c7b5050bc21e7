"""What importing the client loads, in a fresh process."""

from __future__ import annotations

import subprocess
import sys


def loaded_by(statement: str) -> set[str]:
    """Returns the modules that a fresh process has after a statement."""
    done = subprocess.run(
        [sys.executable, "-c", f"{statement}; import sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return set(done.stdout.split())


def test_the_package_loads_nothing_before_it_is_used() -> None:
    loaded = {name for name in loaded_by("import envwire.client") if name.startswith("envwire.")}
    assert loaded == {"envwire.client", "envwire.envs", "envwire.envs._lazy"}


def test_one_environment_loads_no_event_loop_no_tls_and_no_vectors() -> None:
    loaded = loaded_by("from envwire.client import RemoteEnv")
    assert "envwire.client.env" in loaded
    not_needed = {"asyncio", "ssl", "subprocess", "tempfile", "grpc", "concurrent.futures.thread"}
    rooms = {"envwire.client.aio", "envwire.client.vector", "envwire.client._vector"}
    required = loaded_by("import numpy, google.protobuf.message")  # numpy 1.26 loads subprocess
    assert loaded & (not_needed | rooms) - required == set()
