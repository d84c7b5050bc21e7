"""docs/settings.md has the settings that there are."""

from __future__ import annotations

import re
from pathlib import Path

from envwire.server._settings.setting import gather
from envwire.server.config import SETTINGS, ServerConfig
from tests.unit.docs.settings_tables import DOCS, page_with_tables

_PAGE = (DOCS / "settings.md").read_text(encoding="utf-8")


def test_the_tables_are_the_codes() -> None:
    write = "write it anew: python -m tests.unit.docs.settings_tables"
    assert page_with_tables(_PAGE, SETTINGS) == _PAGE, write
    assert all(f"| `{name}` |" in _PAGE for name in SETTINGS)


def test_the_file_shown_is_one(tmp_path: Path) -> None:
    (shown,) = re.findall(r"```toml\n(.*?)```", _PAGE, re.DOTALL)
    file = tmp_path / "server.toml"
    file.write_text(shown, encoding="utf-8")
    assert ServerConfig(**gather(SETTINGS, {}, {}, str(file))).max_sessions == 8
