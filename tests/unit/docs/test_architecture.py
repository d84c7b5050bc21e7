"""docs/architecture.md names files that the code passes through, and its picture is drawn from it as it is now."""

from __future__ import annotations

import pytest

from tests.unit.docs.tour import PAGE, PICTURE, named_files, picture, shown, traced

#: A trace also has what happens to run beside a step, such as the renewal of a lease on a busy machine.
_TRACES = 3


@pytest.mark.slow
def test_the_picture_is_the_codes_and_shows_every_file_of_the_tour() -> None:
    named = named_files(PAGE.read_text("utf-8"))
    drawn = PICTURE.read_text("utf-8")
    assert any(picture(_rows(named)) == drawn for _ in range(_TRACES)), (
        "python -m tests.unit.docs.tour draws it"
    )


def _rows(named: list[str]) -> dict[str, dict[str, list[str]]]:
    rows = shown(traced(), named)
    passed = {file for sides in rows.values() for files in sides.values() for file in files}
    assert set(named) - passed == set(), "the code does not pass through them"
    return rows
