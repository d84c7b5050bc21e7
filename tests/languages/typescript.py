"""What the tests of the TypeScript library share: its compiled programs."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import ROOT

PACKAGE = Path(ROOT) / "client" / "typescript"
_BUILT = PACKAGE / "build" / "tests" / "drivers"


def program(name: str) -> list[str]:
    """Returns the command of a compiled program, or skips the tests that need it."""
    node = shutil.which("node")
    path = _BUILT / f"{name}.js"
    if node is None or not path.exists():
        pytest.skip(
            "Node.js or the compiled TypeScript library is missing: run `make test-typescript`"
        )
    return [node, str(path)]


@contextmanager
def running(name: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Runs a program whose lines are read and written by the test."""
    command = [*program(name), *arguments]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()
