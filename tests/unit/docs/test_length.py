"""Users' pages stay short enough to be read: what grows them beyond that is told twice, or is not for users."""

from __future__ import annotations

import re

from tests.unit.docs.test_examples import ROOT

#: Pages for developers and implementers, and the sources of claims.
_NOT_FOR_USERS = {
    *("protocol", "conformance-reference", "api-items", "architecture"),
    *("measurements", "promises", "threats"),
}
#: A word has a letter or a digit; bars and dashes of tables are none.
_WORD = re.compile(r"\S*[A-Za-z0-9]\S*")


def test_pages_of_users_have_about_25_000_words() -> None:
    pages = [page for page in (ROOT / "docs").rglob("*.md") if page.stem not in _NOT_FOR_USERS]
    words = {page.name: len(_WORD.findall(page.read_text(encoding="utf-8"))) for page in pages}
    assert sum(words.values()) < 25_000, sorted(words.items(), key=lambda page: -page[1])[:10]


def test_the_readme_has_about_a_thousand_words() -> None:
    assert len(_WORD.findall((ROOT / "README.md").read_text(encoding="utf-8"))) < 1_150
