"""Starts a server and runs cartpole.mjs with Node.js against it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from envwire.server import Server

HERE = Path(__file__).parent
#: Timeout in seconds; the example takes about three.
TIMEOUT = 120


def find(tool: str) -> str:
    """Returns the path of a program, or exits with a message that says how to install it."""
    path = shutil.which(tool)
    if path is None:
        sys.exit(f"{tool} is not installed; this example needs Node.js 18 or newer, and npm")
    return path


def main() -> int:
    """Installs missing packages, runs the example and returns its exit status."""
    node, npm = find("node"), find("npm")
    if not (HERE / "node_modules").is_dir():
        # No package needs an install script, so install scripts are disabled.
        install = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        subprocess.run(install, cwd=HERE, check=True)
    with Server(["CartPole-v1"]) as server:
        example = [node, str(HERE / "cartpole.mjs"), server.target]
        return subprocess.run(example, check=False, timeout=TIMEOUT).returncode


if __name__ == "__main__":
    sys.exit(main())
