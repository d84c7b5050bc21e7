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
