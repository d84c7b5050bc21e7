"""The distributions, built once, and environments outside the checkout that they are installed in."""

from __future__ import annotations

import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: Beside tests that compute, and with a slow index.
INSTALL_SECONDS = 900


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
    """Builds the sdist and the wheel of one distribution, with what `make test-package` has installed for that only."""
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", out, source],
        check=True,
        timeout=INSTALL_SECONDS,
        stdout=subprocess.DEVNULL,
    )
    (sdist,), (wheel,) = out.glob("*.tar.gz"), out.glob("*.whl")
    return sdist, wheel


def install(where: Path, *requirements: str) -> Path:
    """Installs requirements in a virtual environment, which it makes if there is none; returns its `bin`."""
    if not where.joinpath("bin").exists():
        venv.create(where)
    subprocess.run(
        [*pip(where / "bin"), "install", "--quiet", *requirements],
        check=True,
        timeout=INSTALL_SECONDS,
        cwd=where,
    )
    return where / "bin"


def pip(programs: Path) -> list[str | Path]:
    """Returns the command of pip, which itself is in none of the environments."""
    return [sys.executable, "-m", "pip", "--python", programs / "python"]


@pytest.fixture(scope="session")
def client(artefacts: Artefacts, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` directory of an environment with the wheel and its dependencies."""
    return install(tmp_path_factory.mktemp("client"), str(artefacts.wheel))


@pytest.fixture(scope="session")
def full(artefacts: Artefacts, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` of an environment with the extras of server and Gymnasium; a test adds the farm to it."""
    return install(tmp_path_factory.mktemp("full"), f"{artefacts.wheel}[server,gymnasium]")
