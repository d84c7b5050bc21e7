"""docs/farm.md has the settings and the states that there are."""

from __future__ import annotations

from envwire.farm.gateway.config import SETTINGS
from envwire.farm.gateway.registry.states import LIVENESS, Liveness, State
from tests.unit.docs.settings_tables import DOCS, page_with_tables

_PAGE = (DOCS / "farm.md").read_text(encoding="utf-8")


def test_the_tables_of_settings_are_the_codes() -> None:
    assert page_with_tables(_PAGE, SETTINGS) == _PAGE


def test_the_table_of_states_is_the_codes() -> None:
    rows = [line.strip("| ").split(" | ") for line in _PAGE.splitlines() if line.startswith("| ")]
    drawn = {row[0]: row[-1] for row in rows if row[-1] in _LIVENESSES}
    assert drawn == {
        State.Name(state).removeprefix("STATE_").lower(): Liveness.Name(said).removeprefix(_PREFIX)
        for state, said in LIVENESS.items()
    }


_PREFIX = "LIVENESS_"
_LIVENESSES = {name.removeprefix(_PREFIX) for name in dict(Liveness.items())}
