"""Which files were edited since they were imported."""

from __future__ import annotations

import os
from pathlib import Path

from envwire.server._processes.environments import changed, stamps


def test_an_edit_a_removal_and_a_new_file_are_seen(tmp_path: Path) -> None:
    one, two, later = (str(tmp_path / name) for name in ("one.py", "two.py", "later.py"))
    for path in (one, two):
        Path(path).write_text("a", encoding="utf-8")
    files = stamps([one, two, later])
    assert changed(files) == []
    os.utime(one, ns=(0, 1))
    Path(two).unlink()
    Path(later).write_text("", encoding="utf-8")
    assert changed(files) == [one, two, later]


def test_a_file_that_is_known_is_compared_with_what_it_was_first(tmp_path: Path) -> None:
    known, new = (str(tmp_path / name) for name in ("known.py", "new.py"))
    for path in (known, new):
        Path(path).write_text("a", encoding="utf-8")
    before = stamps([known])
    Path(known).write_text("edited while it was imported", encoding="utf-8")
    files = stamps([known, new], before)
    assert changed(files) == [known]
