"""A disk that hangs: recordings wait for it, and nobody else does."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from envwire.client import RemoteEnv
from envwire.server import Server
from tests.conftest import SETTINGS

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root")


def run(*command: str | Path) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    image, folder = tmp_path / "image", tmp_path / "disk"
    folder.mkdir()
    image.write_bytes(bytes(2**24))
    if not (run("mkfs.ext4", "-q", image) and run("mount", "-o", "loop", image, folder)):
        pytest.skip("mounts are not allowed here")
    yield folder
    run("fsfreeze", "--unfreeze", folder)
    assert run("umount", "--lazy", folder)


def test_sessions_are_made_without_a_recording(disk: Path) -> None:
    """Each waited for the file of its recording until its lease was over, and held its slot."""
    with Server(["CartPole-v1"], record=disk / "recordings", **SETTINGS) as server:
        with closing(RemoteEnv(server.target, "CartPole-v1")) as env:
            assert env.recorded_as
        assert run("fsfreeze", "--freeze", disk)
        for _ in range(2):
            with closing(RemoteEnv(server.target, "CartPole-v1")) as env:
                env.reset(seed=1)
                assert not env.recorded_as
        assert run("fsfreeze", "--unfreeze", disk)  # else no process with a thread there can end
