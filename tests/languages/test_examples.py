"""The examples with stock gRPC libraries take the same episode as the Python client."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from examples.stock_grpc import EXAMPLES, HERE

#: What each example runs, and the tool that it cannot do without.
COMMANDS = {"node": ("npm", [str(HERE / "node" / "run.py")])} | {
    language: (example.tool, [str(HERE / "stock_grpc.py"), language])
    for language, example in EXAMPLES.items()
}


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("language", COMMANDS)
def test_the_example_sees_what_python_sees(language: str) -> None:
    tool, command = COMMANDS[language]
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    finished = subprocess.run(
        [sys.executable, *command], check=False, capture_output=True, text=True
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr


def test_a_missing_tool_is_named_in_one_line() -> None:
    finished = subprocess.run(
        [sys.executable, str(HERE / "stock_grpc.py"), "rust"],
        check=False,
        capture_output=True,
        text=True,
        env={"PATH": ""},
    )
    assert finished.returncode == 1
    assert finished.stderr == ("cargo is not installed: this example needs Rust 1.88 or newer\n")
