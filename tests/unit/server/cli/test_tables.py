"""Tables of commands are whole, however narrow the terminal is."""

from __future__ import annotations

import io

from rich.console import Console
from rich.table import Table

from envwire.server.cli._console import print_whole, table_of
from envwire.server.cli._inspect.top import COLUMNS


def test_a_narrow_terminal_cuts_no_cell() -> None:
    table = Table("session", "environment", "client")
    cells = ("3f2a91bc-0123456789abcdef", "CartPole-v1", "address of this machine")
    table.add_row(*cells)
    console = Console(file=io.StringIO(), width=40)
    print_whole(table, console)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert all(cell in shown for cell in cells)
    assert "…" not in shown


def test_the_servers_of_a_farm_fit_into_80_columns() -> None:
    cells = ("127.0.0.1:33761", "free", "0", "64", "1", "0.6 s", "43210", "0.1.0", "zone=a")
    console = Console(file=io.StringIO(), width=80)
    console.print(table_of(COLUMNS, [cells]))
    _, row = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert row.split() == " ".join(cells).split()
