"""The distributions, built once, and environments outside the checkout that they are installed in."""

from __future__ import annotations

import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Artefacts:
    """The files that are uploaded to a package index."""

    sdist: Path
    wheel: Path
    farm: Path


@pytest.fixture(scope="session")
def artefacts(tmp_path_factory: pytest.TempPathFactory) -> Artefacts:
    """Builds the sdists from the checkout, and the wheels from the sdists."""
    pytest.importorskip("build", reason="`make test-package` installs it")
    (sdist, wheel), (_, farm) = (
        _build(source, tmp_path_factory.mktemp("dist")) for source in (ROOT, ROOT / "farm")
    )
    return Artefacts(sdist, wheel, farm)


def _build(source: Path, out: Path) -> tuple[Path, Path]:
    """Builds the sdist and the wheel of one distribution."""
    subprocess.run(
        [sys.executable, "-m", "build", "--outdir", out, source],
        check=True,
        timeout=300,
        stdout=subprocess.DEVNULL,
    )
    (sdist,), (wheel,) = out.glob("*.tar.gz"), out.glob("*.whl")
    return sdist, wheel


def install(where: Path, *requirements: str) -> Path:
    """Makes a virtual environment with some requirements; returns its `bin`."""
    venv.create(where, with_pip=True)
    python = where / "bin" / "python"
    command = [python, "-m", "pip", "install", "--quiet", *requirements]
    subprocess.run(command, check=True, timeout=300, cwd=where)
    return where / "bin"


@pytest.fixture(scope="session")
def client(artefacts: Artefacts, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` directory of an environment with the wheel and its dependencies."""
    return install(tmp_path_factory.mktemp("client"), str(artefacts.wheel))


@pytest.fixture(scope="session")
def full(artefacts: Artefacts, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` of an environment with the sdist and the extras of server and Gymnasium."""
    return install(tmp_path_factory.mktemp("full"), f"{artefacts.sdist}[server,gymnasium]")


@pytest.fixture(scope="session")
def farm(artefacts: Artefacts, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` of an environment with the core and its extra [farm], whose wheel is no index's."""
    requirements = (f"{artefacts.wheel}[server,farm]", str(artefacts.farm))
    return install(tmp_path_factory.mktemp("farm"), *requirements)
