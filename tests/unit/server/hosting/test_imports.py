"""The modules of --import, and the errors for broken ones."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from envwire.server._hosting.imports import BrokenModuleError, import_named


def write(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.fixture(autouse=True)
def modules_as_before(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))


def test_a_file_is_imported_by_its_path(tmp_path: Path) -> None:
    module = import_named(write(tmp_path, "laboratory.py", "answer = 42"))
    assert module.answer == 42
    assert sys.modules["laboratory"] is module


def test_a_module_is_imported_by_its_name(tmp_path: Path) -> None:
    write(tmp_path, "named_laboratory.py", "answer = 42")
    assert import_named("named_laboratory").answer == 42


@pytest.mark.parametrize("by_path", [True, False])
@pytest.mark.parametrize(
    ("text", "line", "raised"),
    [
        ("x = 1\nx / 0\n", "line 2", "ZeroDivisionError"),
        ("import no_such_dependency\n", "line 1", "no_such_dependency"),
        ("def (:\n", "line 1", "SyntaxError"),
    ],
)
def test_a_broken_module_shows_where(
    tmp_path: Path, by_path: bool, text: str, line: str, raised: str
) -> None:
    path = write(tmp_path, "broken_laboratory.py", text)
    with pytest.raises(BrokenModuleError) as caught:
        import_named(path if by_path else "broken_laboratory")
    told = str(caught.value)
    assert path in told
    assert line in told
    assert raised in told
    assert "importlib" not in told
    assert "broken_laboratory" not in sys.modules


@pytest.mark.parametrize(
    ("name", "hint"), [("absent", "--import absent.py"), ("absent.py", "no such file")]
)
def test_what_is_not_there_is_said_in_a_line(name: str, hint: str) -> None:
    with pytest.raises(BrokenModuleError, match=hint) as caught:
        import_named(name)
    assert "\n" not in str(caught.value)
