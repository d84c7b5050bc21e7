"""The pages show the commands and programs that `make test-newcomer` runs; here none of them is run."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.newcomer import paths
from tests.newcomer.shell import Background, Shell

#: What commands print that a path reads, by how they begin.
PRINTED = {
    "envwire farm status": "127.0.0.1:40001\tfree\t8\t64\t1\t0.1 s\t4711\t0.1.0\t-\n",
    "sleep": "CartPole-v1",
    "envwire sessions": "CartPole-v1",
    "envwire token": f"envwire_secret\nme play,admin {'0' * 64}\n",
}


class Read(Background):
    """A program that has ended."""

    def __init__(self, printed: str) -> None:
        self._printed = printed

    def finish(self) -> str:
        return self._printed

    def stop(self) -> None:
        pass


class Reader(Shell):
    """Reads the commands and runs none."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.read: list[str] = []

    def run(self, command: str) -> str:
        self.read.append(command)
        return next((text for begins, text in PRINTED.items() if command.startswith(begins)), "")

    def start(self, command: str, ready: str = "") -> Background:
        self.run(command)
        with_token = any(line.startswith("envwire token") for line in self.read)
        return Read("lost=0, recovered=0" if with_token else "lost=2, recovered=2")


@pytest.mark.parametrize("name", paths.PATHS)
def test_the_pages_show_what_a_path_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "_need", lambda *_: None)
    reader = Reader(tmp_path)
    for made in ("recordings/1.envrec", "datasets/cartpole/ppo-v0", "agent.gif"):
        (tmp_path / made).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / made).touch()
    paths.PATHS[name](reader)
    assert reader.reached
    for line in reader.read:  # and not one of a program
        subprocess.run(["bash", "-n", "-c", line], check=True)
    assert not [line for line in reader.read if "PID" in line or "PORT" in line or "FILE" in line]
