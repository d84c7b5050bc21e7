"""`docs/api-items.md` names a test for every item, and every test of an item."""

import re
from pathlib import Path

HERE = Path(__file__).parent
TABLE = HERE.parents[2] / "docs" / "api-items.md"
TEST = re.compile(r"^def (test_items?_((?:\d+_)+)\w+)\(", re.MULTILINE)


def by_item():
    """The names of the tests that carry each item's number."""
    found = {}
    for module in sorted(HERE.glob("test_items_*.py")):
        for name, numbers in TEST.findall(module.read_text(encoding="utf-8")):
            for number in numbers.strip("_").split("_"):
                found.setdefault(int(number), []).append(name)
    return found


def table():
    rows = re.findall(
        r"^\| (\d+) \| .+ \| (.+) \|$", TABLE.read_text(encoding="utf-8"), re.MULTILINE
    )
    return {int(number): re.findall(r"`(test_\w+)`", tests) for number, tests in rows}


def test_the_table_has_every_item_and_its_tests():
    assert list(table()) == list(range(1, 108))
    assert table() == by_item()
