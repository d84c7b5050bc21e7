"""Code that pages show is that of tested files, and is in the pages themselves, where code hosts show it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.docs.included_code import PAGES, ROOT, page_with_code
from tests.unit.docs.test_examples import PAGES as ALL_PAGES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_code_is_that_of_its_file(page: Path) -> None:
    text = page.read_text("utf-8")
    assert text == page_with_code(text), "run `python -m tests.unit.docs.included_code`"


def test_a_change_of_a_file_is_noticed() -> None:
    whole, part = "client/cpp/examples/walk.cc", "examples/go/main.go:step"
    for file, code in ((whole, "class Walk"), (part, "StepRequest")):
        assert code in page_with_code(f"<!-- code: {file} -->\n\n```cpp\nold\n```\n")


def test_no_page_needs_the_site_to_show_code() -> None:
    assert [page.name for page in ALL_PAGES if "--8<--" in page.read_text("utf-8")] == []
