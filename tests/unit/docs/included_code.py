"""Writes the code of tested files into the pages that show it: `python -m tests.unit.docs.included_code`.

A comment before a block names the file, or a part of it that stands between two marks there:

    <!-- code: examples/go/main.go:step -->
"""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent

ROOT = Path(__file__).parents[3]
PAGES = [
    page
    for page in (*(ROOT / "docs").rglob("*.md"), *(ROOT / "client").glob("*/README.md"))
    if "<!-- code: " in page.read_text("utf-8")
]

_BLOCK = re.compile(r"^(<!-- code: (\S+?)(?::(\w+))? -->\n+```\w+\n)(.*?)^```$", re.M | re.DOTALL)


def page_with_code(page: str) -> str:
    """Returns the page with the present code in its blocks."""
    return _BLOCK.sub(lambda block: f"{block[1]}{_code(block[2], block[3])}```", page)


def _code(file: str, part: str | None) -> str:
    text = (ROOT / file).read_text("utf-8")
    if part is None:
        return text
    marked = re.search(
        rf"^[^\n]*\[start:{part}\]\n(.*?)^[^\n]*\[end:{part}\]$", text, re.M | re.DOTALL
    )
    if marked is None:
        raise ValueError(f"{file} has no part {part}")
    return dedent(marked[1])


if __name__ == "__main__":
    for path in PAGES:
        path.write_text(page_with_code(path.read_text("utf-8")), "utf-8")
