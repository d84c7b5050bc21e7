"""Tests that run in several processes are all reported, each once, whatever they do to their process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

PROJECT = {
    "pytest.ini": "[pytest]\nmarkers = serial\n",
    "conftest.py": """
from tests.workers import pytest_addoption, pytest_runtestloop
""",
    "test_crash.py": """
import os

def test_before(): pass
def test_ends_its_process(): os._exit(3)
def test_after(): pass
""",
    "test_fixtures.py": """
import os, pytest

@pytest.fixture(scope="module")
def once():
    with open("setups", "a") as file:
        print("up", file=file)
    yield os.getpid()
    with open("setups", "a") as file:
        print("down", file=file)

@pytest.mark.parametrize("number", range(5))
def test_shared(once, number):
    assert once == os.getpid()
""",
    "test_outcomes.py": """
import pytest

def test_passes(): print("said nowhere")
def test_fails():
    print("what the test printed")
    assert [1, 2] == [1, 3]
@pytest.mark.skip(reason="no reason")
def test_is_skipped(): pass
""",
    "test_alone.py": """
import pathlib, pytest

@pytest.mark.serial
def test_is_the_last():
    assert pathlib.Path("setups").read_text().split() == ["up", "down"]
""",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    for name, text in PROJECT.items():
        (folder / name).write_text(text)
    return folder


def run(project: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--at-once", "2", *options]
    env = os.environ | {"PYTHONPATH": ROOT, "PYTEST_ADDOPTS": ""}
    return subprocess.run(
        command, cwd=project, env=env, capture_output=True, text=True, check=False, timeout=100
    )


def test_all_are_reported(project: Path) -> None:
    done = run(project, "-rA")
    told = dict(line.split()[1::-1] for line in done.stdout.splitlines() if "::" in line)
    assert told | {"SKIPPED": ""} == {
        "test_alone.py::test_is_the_last": "PASSED",
        "test_crash.py::test_before": "PASSED",
        "test_crash.py::test_ends_its_process": "FAILED",
        "test_crash.py::test_after": "PASSED",
        **{f"test_fixtures.py::test_shared[{number}]": "PASSED" for number in range(5)},
        "test_outcomes.py::test_passes": "PASSED",
        "test_outcomes.py::test_fails": "FAILED",
        "SKIPPED": "",
    }
    assert "the process of this test ended with 3" in done.stdout
    assert "what the test printed" in done.stdout
    assert "At index 1 diff: 2 != 3" in done.stdout
    assert "2 failed, 9 passed, 1 skipped" in done.stdout
    assert done.returncode == 1


def test_the_first_failure_can_end_it(project: Path) -> None:
    done = run(project, "-x", "test_outcomes.py", "test_alone.py")
    assert "stopping after 1 failures" in done.stdout
    assert "1 failed, 1 passed in" in done.stdout
