"""docs/support.md has the results of the suites, with the current number of checks."""

from __future__ import annotations

from tests.conformance.support import CLIENTS, PAGE, SERVERS, load, page, totals


def test_the_page_shows_the_figures() -> None:
    assert PAGE.read_text("utf-8") == page(load()), "make support"


def test_the_figures_are_of_todays_checks() -> None:
    figures = load()
    assert (list(figures["servers"]), list(figures["clients"])) == (list(SERVERS), list(CLIENTS))
    for kind, rows in figures.items():
        made = totals(kind)
        for row in rows.values():
            counts = {name: count for name, (_, count) in row.items()}
            assert counts == {name: made[name] for name in row}, "make support"
