"""`envwire check`: checks an environment before it is served to others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from envwire.server.cli._failures import reporting
from envwire.server.cli._parameters import EnvId, Imports, Kwargs, TargetOption, keyword_arguments

if TYPE_CHECKING:
    from envwire.server.cli._author.env_checks import Finding

_MARKS = {True: ("ok", "green"), False: ("failed", "red"), None: ("-", "yellow")}


def check(
    env_id: EnvId, target: TargetOption = "", imports: Imports = None, kwarg: Kwargs = None
) -> None:
    """Check ENV_ID: its API, and that results are bit for bit the same here and on a server, over each transport.

    Without --target, a server is started for the checks. What only the server knows, as environments in other
    languages, is made there twice and compared with itself. Exits 1 if a check fails.

    Example: envwire check Lab-v0 --import lab.py
    """
    from envwire.server.cli._author.env_checks import CHECKS, findings
    from envwire.server.cli._author.subject import Subject
    from envwire.server.cli._console import tracked
    from envwire.server.server import ServerError

    with reporting("check", ServerError):
        kwargs = keyword_arguments(kwarg or ())
        with Subject(env_id, target, imports or (), kwargs) as subject:
            found = list(tracked(findings(subject), f"checking {env_id}", len(CHECKS)))
    _show(env_id, found)
    if any(finding.passed is False for finding in found):
        raise typer.Exit(1)


def _show(env_id: str, found: list[Finding]) -> None:
    from rich.table import Table
    from rich.text import Text

    from envwire.server.cli._console import OperatorConsole

    table = Table(title=f"Checks of {env_id}", title_justify="left")
    for column in ("check", "", "what it saw"):
        table.add_column(column, overflow="fold")
    for finding in found:
        table.add_row(finding.name, Text(*_MARKS[finding.passed]), finding.detail)
    OperatorConsole().print(table)
