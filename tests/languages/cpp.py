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


def program(name: str) -> str:
    """Returns the path of a program, or skips the test that needs it where it is not built."""
    path = _BUILT / name
    if not path.exists():
        pytest.skip("the C++ library is not built: run `make test-cpp`")
    return str(path)


@contextmanager
def running(name: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Runs a program whose lines are read and written by the test."""
    command = [program(name), *arguments]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()
