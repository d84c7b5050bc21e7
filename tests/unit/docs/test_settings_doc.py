"""docs/settings.md has the settings that there are."""

from __future__ import annotations

import re
from pathlib import Path

from envwire.server._settings.sources import gather
from envwire.server._settings.table import page_with_tables
from envwire.server.config import SETTINGS, ServerConfig

_PAGE = (Path(__file__).parents[3] / "docs" / "settings.md").read_text(encoding="utf-8")


def test_the_tables_are_the_codes() -> None:
    write = "write it anew: python -m envwire.server._settings.table docs/settings.md"
    assert page_with_tables(_PAGE, SETTINGS) == _PAGE, write
    assert all(f"| `{name}` |" in _PAGE for name in SETTINGS)


def test_the_file_shown_is_one(tmp_path: Path) -> None:
    (shown,) = re.findall(r"```toml\n(.*?)```", _PAGE, re.DOTALL)
    file = tmp_path / "server.toml"
    file.write_text(shown, encoding="utf-8")
    assert ServerConfig(**gather(SETTINGS, {}, {}, str(file))).max_sessions == 8
