"""docs/promises.md: the tests that it names for the pitfalls of remote environments exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")


def test_the_table_of_pitfalls_names_tests_that_exist() -> None:
    rows = re.findall(r"^\| P(\d+) \|[^|]*\|(.*)\|$", PAGE, re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(1, 18))
    sources = "".join(path.read_text(encoding="utf-8") for path in ROOT.glob("tests/**/test_*.py"))
    for _, tests in rows:
        named = re.findall(r"`(test_\w+)`", tests)
        assert named
        assert [name for name in named if f"def {name}(" not in sources] == []
