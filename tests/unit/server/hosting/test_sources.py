"""Tracebacks show the code that ran, also after an edit."""

from __future__ import annotations

import linecache
import sys
import traceback
from pathlib import Path

import numpy as np
import pytest

import envwire.server
from envwire.server._hosting.imports import import_named, operator_files, pin_sources


@pytest.fixture
def laboratory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    monkeypatch.setattr(linecache, "cache", dict(linecache.cache))
    path = tmp_path / "edited_laboratory.py"
    path.write_text("def fail():\n    raise ValueError('as imported')\n", encoding="utf-8")
    return path


def test_only_the_operators_own_files_are_kept(laboratory: Path) -> None:
    import_named(str(laboratory))
    files = operator_files()
    assert str(laboratory) in files
    assert np.__file__ not in files
    assert envwire.server.__file__ not in files


def test_a_traceback_shows_what_was_imported(laboratory: Path) -> None:
    module = import_named(str(laboratory))
    pin_sources()
    laboratory.write_text(
        "# a new first line\n# and another, longer than before\n", encoding="utf-8"
    )
    with pytest.raises(ValueError, match="as imported") as caught:
        module.fail()
    shown = "".join(traceback.format_exception(caught.value))
    assert "raise ValueError('as imported')" in shown
    assert "another" not in shown
