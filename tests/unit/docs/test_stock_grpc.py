"""The runner of the examples in other languages."""

from __future__ import annotations

import subprocess
import sys

from examples.stock_grpc import HERE


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
