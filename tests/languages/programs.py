"""The programs of the libraries in other languages, which the tests drive: built by `make test-cpp` and so on."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.conftest import ROOT

CLIENT = Path(ROOT) / "client"


class Programs(NamedTuple):
    """Where the programs of a library are, and what runs them, if they need that."""

    folder: Path
    suffix: str = ""
    interpreter: str = ""


PROGRAMS = {
    "cpp": Programs(CLIENT / "cpp" / "build" / "tests"),
    "typescript": Programs(
        CLIENT / "typescript" / "build" / "tests" / "drivers", suffix=".js", interpreter="node"
    ),
}
#: The libraries that both drive and serve environments.
LANGUAGES = list(PROGRAMS)


def program(language: str, name: str) -> list[str]:
    """Returns the command of a program, or skips the test that needs it where it is not built."""
    folder, suffix, interpreter = PROGRAMS[language]
    path = folder / (name + suffix)
    if not path.exists() or (interpreter and shutil.which(interpreter) is None):
        pytest.skip(f"the {language} library is not built: run `make test-{language}`")
    return [*([interpreter] if interpreter else []), str(path)]


@contextmanager
def running(language: str, name: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Runs a program with which the test communicates by lines."""
    command = [*program(language, name), *arguments]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


class Kit(NamedTuple):
    """A server of a kit: its process, and its address."""

    process: subprocess.Popen[str]
    target: str


@contextmanager
def kit(language: str) -> Iterator[Kit]:
    """Serves the environments of the conformance suite with a kit."""
    with running(language, "serve") as process:
        assert process.stdout is not None
        yield Kit(process, process.stdout.readline().strip())
