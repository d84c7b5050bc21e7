"""docs/threats.md promises nothing without a test: each name in it is a test that there is."""

from __future__ import annotations

import re
from pathlib import Path

from tests.each import each

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "threats.md").read_text(encoding="utf-8")
NAMED = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", PAGE)
#: Rows of the threat model: what somebody cannot do.
ROWS = [line for line in PAGE.splitlines() if line.startswith("| cannot ")]


@each(("file", "test"), NAMED)
def test_the_test_is_there(file: str, test: str) -> None:
    code = (ROOT / file).read_text(encoding="utf-8")
    assert not test or re.search(rf"^def {test}\(", code, re.MULTILINE)


def test_each_promise_names_a_test() -> None:
    assert len(ROWS) > 20
    assert [row for row in ROWS if "`test_" not in row and "::test_" not in row] == []
