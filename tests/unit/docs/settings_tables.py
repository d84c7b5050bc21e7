"""Writes the tables of settings in docs/settings.md and docs/farm.md: `python -m tests.unit.docs.settings_tables`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from pathlib import Path

from envwire.farm.gateway import config as gateway
from envwire.server import config
from envwire.server._settings.setting import Setting

DOCS = Path(__file__).parents[3] / "docs"
_BEGIN, _END = "<!-- settings -->\n", "<!-- end of settings -->\n"


def page_with_tables(page: str, settings: Mapping[str, Setting]) -> str:
    """Returns the page with the tables inserted between its two marks."""
    before, _, rest = page.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return f"{before}{_BEGIN}{_tables(settings.values())}{_END}{after}"


def _tables(settings: Iterable[Setting]) -> str:
    parts: list[str] = []
    for theme, members in groupby(settings, key=lambda setting: setting.about.theme):
        parts += [
            f"\n## {theme}\n",
            "| key | option | default | what it sets |",
            "|---|---|---|---|",
        ]
        parts += map(_row, members)
    return "\n".join(parts) + "\n\n"


def _row(setting: Setting) -> str:
    return f"| `{setting.name}` | `{setting.option}` | {_default(setting)} | {setting.about.help} |"


def _default(setting: Setting) -> str:
    """Returns the default in TOML's form; nothing for an empty default or a required setting."""
    given = isinstance(setting.default, (str, int, float)) and setting.default != ""
    return f"`{str(setting.default).lower()}`" if given else ""


if __name__ == "__main__":
    for name, settings in (("settings.md", config.SETTINGS), ("farm.md", gateway.SETTINGS)):
        path = DOCS / name
        path.write_text(page_with_tables(path.read_text("utf-8"), settings), "utf-8")
