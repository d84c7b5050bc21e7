"""docs/promises.md names no test that is not there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")
NAMED = re.findall(r"`(test_\w+)`", PAGE)
TESTS = set(
    re.findall(
        r"^def (test_\w+)\(",
        "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")),
        re.MULTILINE,
    )
)


@pytest.mark.parametrize("name", sorted(set(NAMED)))
def test_the_test_is_there(name: str) -> None:
    assert name in TESTS


def test_the_table_is_there() -> None:
    assert len(NAMED) > 20
