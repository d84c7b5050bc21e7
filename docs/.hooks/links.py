"""Replaces links from the pages to files of the repository by text, since the repository has no public address yet.

A test checks that the files exist (tests/unit/docs); mkdocs checks the links between pages.
"""

from __future__ import annotations

import re
from typing import Any

_TO_REPOSITORY = re.compile(r"\[([^\]]*)\]\((?:\.\./)+(?!images/)[\w./-]*\)")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Removes the links of a page that lead outside the folder of pages."""
    inside = page.file.src_uri.count("/")
    return _TO_REPOSITORY.sub(
        lambda link: link[1] if link[0].count("../") > inside else link[0], markdown
    )
