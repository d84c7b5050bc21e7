"""The tutorial of a farm on demand, run as it is written: wheels whose packages conflict, and their farm."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.farm.on_demand import on_demand

PAGE = Path(ROOT, "docs", "tutorials", "on-demand.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def run(program: str, folder: Path) -> str:
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    return done.stdout


@pytest.mark.long  # pip installs NumPy and protobuf three times
@pytest.mark.timeout(900)
def test_three_simulators_with_conflicting_packages(tmp_path: Path) -> None:
    [agent] = blocks("python")
    making = Path(ROOT, "examples", "make_simulators.py").read_text(encoding="utf-8")
    [groups] = blocks("toml")
    run(making, tmp_path)
    (tmp_path / "farm.toml").write_text(groups)
    with on_demand(tmp_path / "farm.toml", XDG_CACHE_HOME=str(tmp_path / "cache")) as farm:
        assert farm.is_empty()
        said = run(agent.replace("localhost:50050", farm.target), tmp_path)
        assert re.findall(r"^ {4}(\w+ runs .*)$", PAGE, re.MULTILINE) == said.splitlines()
        farm.until(farm.is_empty)
    (tmp_path / "farm.toml").write_text(groups.replace("physics-1.0", "physics-2.0"))
    with on_demand(tmp_path / "farm.toml", XDG_CACHE_HOME=str(tmp_path / "cache")) as farm:
        with pytest.raises(AssertionError) as caught:
            run(agent.replace("localhost:50050", farm.target), tmp_path)
        told = str(caught.value)
        assert "no slot for lab/Pusher-v0: group 'pusher': its servers do not start" in told
        assert "packages not installed" in told
