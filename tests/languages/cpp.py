"""What the tests of the C++ library share: its programs, built by `make build-cpp`."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import ROOT

PACKAGE = Path(ROOT) / "client" / "cpp"
_BUILT = PACKAGE / "build" / "tests"


@contextmanager
def running(name: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Runs a program whose lines are read and written by the test; skips the test where it is not built."""
    program = _BUILT / name
    if not program.exists():
        pytest.skip("the C++ library is not built: run `make test-cpp`")
    with subprocess.Popen(
        [str(program), *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()
