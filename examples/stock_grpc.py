"""Starts a server and runs an example in another language, with its stock gRPC library, against it.

    python examples/stock_grpc.py go

The example plays the same episode of CartPole as `policy` here; the returns must be equal.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from envwire.client import RemoteEnv
from envwire.server import Server

HERE = Path(__file__).parent
BUF = str(Path(sys.executable).parent / "buf")
MAVEN = ("mvn", "--quiet", "--batch-mode")
#: Maven's reset of the terminal's colours, which it prints even into a pipe and regardless of its options.
COLOUR_RESET = "\x1b[0m"
SEED = 7
#: Seconds that a built example may take; it takes less than one.
TIMEOUT = 60


@dataclass(frozen=True)
class Example:
    """A program in the folder of its language.

    Attributes:
        tool: The command that must be installed, and its name in messages.
        needs: What to install if the command is missing.
        build: Commands that generate code and compile; they download what they need.
        run: The program; "{target}" stands for the address of the server.
    """

    tool: str
    needs: str
    build: tuple[tuple[str, ...], ...]
    run: tuple[str, ...]


EXAMPLES = {
    "go": Example(
        "go",
        "Go 1.26 or newer",
        (
            (BUF, "generate", "../../protos", "--path", "../../protos/envwire/v1"),
            ("go", "build", "-o", "build/cartpole", "."),
        ),
        ("build/cartpole", "{target}"),
    ),
    "java": Example(
        "mvn",
        "Maven 3.8 and a JDK 17 or newer",
        ((*MAVEN, "compile"),),
        (*MAVEN, "exec:java", "-Dexec.args={target}"),
    ),
    "rust": Example(
        "cargo",
        "Rust 1.88 or newer",
        (("cargo", "build", "--quiet", "--locked"),),
        ("target/debug/envwire-rust-example", "{target}"),
    ),
}


def policy(observation: Any) -> int:
    """Pushes to the side to which the pole leans."""
    return int(observation[2] > 0)


def expected(target: str) -> str:
    """Returns the line that the example must print: the episode as the Python client drives it."""
    with RemoteEnv(target, "CartPole-v1") as env:
        observation, _ = env.reset(seed=SEED)
        steps, total, ended = 0, 0.0, False
        while not ended:
            observation, reward, terminated, truncated, _ = env.step(policy(observation))
            steps, total, ended = steps + 1, total + float(reward), terminated or truncated
    return f"{steps} steps, return {total:.1f}"


def output(example: Example, folder: Path, target: str) -> str:
    """Builds the example, runs it and returns what it printed."""
    for command in example.build:
        subprocess.run(command, cwd=folder, check=True)
    run = [part.format(target=target) for part in example.run]
    finished = subprocess.run(
        run, cwd=folder, check=True, stdout=subprocess.PIPE, text=True, timeout=TIMEOUT
    )
    return finished.stdout.replace(COLOUR_RESET, "")


def main(language: str) -> None:
    """Runs the example and compares.

    Raises:
        SystemExit: A tool is missing, or the example's episode was different.
    """
    example = EXAMPLES[language]
    if shutil.which(example.tool) is None:
        sys.exit(f"{example.tool} is not installed: this example needs {example.needs}")
    with Server(["CartPole-v1"]) as server:
        printed = output(example, HERE / language, server.target)
        wanted = ["refused: UNKNOWN_ENVIRONMENT", "made CartPole-v1: 2 actions"]
        wanted.append(expected(server.target))
    print(printed, end="")
    if printed.splitlines() != wanted:
        sys.exit(f"expected {wanted}")
    print("as in Python")


if __name__ == "__main__":
    main(*sys.argv[1:])
