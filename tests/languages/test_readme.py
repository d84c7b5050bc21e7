"""The READMEs of the libraries begin with an example that is built with them."""

from __future__ import annotations

import re

import pytest

from tests.languages.programs import CLIENT

FIRST = {"typescript": "first.ts", "cpp": "first.cc"}


@pytest.mark.parametrize("language", FIRST)
def test_the_first_lines_are_a_built_example(language: str) -> None:
    readme = (CLIENT / language / "README.md").read_text("utf-8")
    block = re.search(r"```\w+\n(.*?)```", readme, re.DOTALL)
    assert block is not None
    assert block[1] == (CLIENT / language / "examples" / FIRST[language]).read_text("utf-8")
