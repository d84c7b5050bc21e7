"""The tables: one for each section, and one of the goals."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from benchmarks.peers.goals import Verdict
from benchmarks.peers.plan import Group, Section
from benchmarks.peers.results import Outcome, Results, Spread


def _number(value: float) -> str:
    """Three significant digits, without an exponent."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _cells(spread: Spread | None) -> tuple[str, str]:
    if spread is None:
        return "", ""
    return _number(spread.median), f"{_number(spread.low)} - {_number(spread.high)}"


def _label(group: Group, clients: int) -> str:
    if len(group.clients) == 1:
        return group.name
    return f"{clients} client" + "s" * (clients > 1)


def _row(outcome: Outcome, floor: Outcome) -> list[str]:
    time = Spread.of([seconds * 1e6 for seconds in outcome.seconds])
    if time is None:
        return ["", "", "", "", "", f"[dim]{outcome.reason[:100]}[/]"]
    beside = Spread.of(outcome.times(floor))
    rate = _number(outcome.num_envs / time.median * 1e6)
    return [*_cells(time), rate, *_cells(beside), _remark(outcome)]


def _remark(outcome: Outcome) -> str:
    if outcome.reason:
        return f"[dim]{outcome.reason[:100]}[/]"
    unfairness = Spread.of(outcome.unfairness)
    if outcome.clients == 1 or unfairness is None:
        return ""
    return f"farthest client x{unfairness.median:.1f}"


def show_section(console: Console, key: str, section: Section, results: Results) -> None:
    """Prints medians, ranges, and ratios to the first case of each group, taken round by round."""
    table = Table(title=section.title, caption=section.note or None, title_justify="left")
    for name in ("", "case"):
        table.add_column(name, no_wrap=True)
    for name in (f"us a {section.unit}", "range", "steps/s", "x floor", "range"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", max_width=60)
    for group in section.groups:
        for clients in group.clients:
            _add_group(table, key, group, clients, results)
    console.print(table)


def _add_group(table: Table, key: str, group: Group, clients: int, results: Results) -> None:
    floor = results.get(key, group.name, group.cases[0].name, clients)
    for index, case in enumerate(group.cases):
        outcome = results.get(key, group.name, case.name, clients)
        label = "" if index else f"[bold]{_label(group, clients)}[/]"
        table.add_row(label, case.name, *_row(outcome, floor))
    table.add_section()


_STYLES = {"met": "green", "missed": "red", "not measured": "dim"}


def show_goals(console: Console, verdicts: Sequence[Verdict]) -> None:
    """Prints each goal with the measured value."""
    table = Table("goal", "bound", "measured", "range", "", title="Goals", title_justify="left")
    for verdict in verdicts:
        style = _STYLES[verdict.word]
        cells = _cells(verdict.measured)
        table.add_row(verdict.goal.text, verdict.goal.bound, *cells, f"[{style}]{verdict.word}[/]")
    console.print(table)
