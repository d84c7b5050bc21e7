"""The pages about a farm on demand have the settings and the states that there are, and files that it takes."""

from __future__ import annotations

import re
from typing import Any

import pytest

from envwire.farm.cli.farm import _OF_SERVERS, _OF_THE_GATEWAY, _TAKEN
from envwire.farm.gateway.groups.group_config import GROUP_SETTINGS, read_groups
from envwire.farm.v1 import farm_pb2
from tests.unit.docs.settings_tables import DOCS

_PAGE = (DOCS / "on-demand.md").read_text(encoding="utf-8")
_ROWS = [line.strip("| ").split("|") for line in _PAGE.splitlines() if line.startswith("| ")]
_TOML = re.compile(r"^```toml\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_table_of_settings_is_the_codes() -> None:
    drawn = {row[0].strip(" `"): row[-1].strip() for row in _ROWS if row[0].startswith("`")}
    assert drawn == {name: each.about.help for name, each in GROUP_SETTINGS.items()}


def test_the_table_of_states_is_the_codes() -> None:
    states = {
        name.removeprefix("STATE_").lower()
        for name, number in farm_pb2.GroupStatus.State.items()
        if number
    }
    assert states <= {row[0].strip() for row in _ROWS}


@pytest.mark.parametrize("page", ["on-demand.md", "lab.md", "tutorials/on-demand.md"])
def test_a_farm_takes_the_files_of_the_pages(page: str) -> None:
    toml: Any = pytest.importorskip("tomllib")
    for block in _TOML.findall((DOCS / page).read_text(encoding="utf-8")):
        settings = toml.loads(block)
        tables = settings.pop("groups")
        assert settings.keys() <= _TAKEN.keys()
        defaults = {key: value for key, value in settings.items() if key not in _OF_THE_GATEWAY}
        is_of_images = all("image" in table for table in tables.values())
        engine = "docker" if is_of_images else "local"
        assert read_groups(tables, defaults, [*_OF_SERVERS], engine)
