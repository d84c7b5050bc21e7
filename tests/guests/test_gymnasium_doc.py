"""docs/gymnasium.md: its examples run, and the tests that it names exist."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from envwire.server import Server

pytestmark = pytest.mark.filterwarnings("default")

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "gymnasium.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
OPTIONAL = re.compile(r"^from (stable_baselines3) ", re.MULTILINE)


@pytest.mark.skipif(
    not hasattr(gymnasium.wrappers, "StickyAction"), reason="the page speaks of Gymnasium 1.x"
)
def test_the_examples_run(server: Server) -> None:
    names: dict[str, Any] = {}
    assert EXAMPLES
    for example in EXAMPLES:
        if missing := OPTIONAL.search(example):
            try:
                __import__(missing[1])
            except ImportError:
                continue
        exec(example.replace("localhost:50051", server.target), names)


def test_the_table_of_pitfalls_names_tests_that_exist() -> None:
    rows = re.findall(r"^\| P(\d+) \|[^|]*\|(.*)\|$", PAGE, re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(1, 18))
    sources = "".join(path.read_text(encoding="utf-8") for path in ROOT.glob("tests/**/test_*.py"))
    for _, tests in rows:
        named = re.findall(r"`(test_\w+)`", tests)
        assert named
        assert [name for name in named if f"def {name}(" not in sources] == []
