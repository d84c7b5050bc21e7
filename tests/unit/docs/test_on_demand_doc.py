"""docs/on-demand.md has the settings and the states of groups that there are."""

from __future__ import annotations

from envwire.farm.gateway.groups.group_config import GROUP_SETTINGS
from envwire.farm.v1 import farm_pb2
from tests.unit.docs.settings_tables import DOCS

_PAGE = (DOCS / "on-demand.md").read_text(encoding="utf-8")
_ROWS = [line.strip("| ").split("|") for line in _PAGE.splitlines() if line.startswith("| ")]


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
