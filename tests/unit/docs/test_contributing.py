"""The files that CONTRIBUTING.md sends a contributor to exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent.parent
FOLDERS = ("client", "docs", "envs", "farm/envwire", "integrations", "protos", "server", "tests")
PATHS = re.findall(rf"`((?:{'|'.join(FOLDERS)})/[\w./-]+)`", (ROOT / "CONTRIBUTING.md").read_text())


@pytest.mark.parametrize("path", sorted(set(PATHS)))
def test_a_path_exists(path: str) -> None:
    assert (ROOT / path).exists()
