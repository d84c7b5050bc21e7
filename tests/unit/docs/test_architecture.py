"""docs/architecture.md names files that the code passes through, and its picture is drawn from it as it is now."""

from __future__ import annotations

import pytest

from tests.unit.docs.tour import PAGE, PICTURE, named_files, picture, shown, traced


@pytest.mark.slow
def test_the_picture_is_the_codes_and_shows_every_file_of_the_tour() -> None:
    named = named_files(PAGE.read_text("utf-8"))
    rows = shown(traced(), named)
    passed = {file for sides in rows.values() for files in sides.values() for file in files}
    assert set(named) - passed == set(), "the code does not pass through them"
    assert picture(rows) == PICTURE.read_text("utf-8"), "python -m tests.unit.docs.tour draws it"
