"""`--help` of every command shows its full text: Rich does not interpret brackets as markup."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from envwire.server.cli._app import app


def commands(command: Any, *path: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield path, command
    for name, each in getattr(command, "commands", {}).items():
        yield from commands(each, *path, name)


def written(command: Any) -> Iterator[str]:
    """Yields the words with brackets in the texts of a command and its options."""
    for each in (
        command.help,
        command.epilog,
        *(getattr(one, "help", "") for one in command.params),
    ):
        yield from (word for word in (each or "").replace(r"\[", "[").split() if "[" in word)


COMMANDS = dict(commands(typer.main.get_command(app)))


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_brackets_are_shown(path: tuple[str, ...]) -> None:
    every = {"--help-all"} & {name for each in COMMANDS[path].params for name in each.opts}
    option = every.pop() if every else "--help"
    shown = CliRunner().invoke(app, [*path, option], env={"COLUMNS": "300"}).stdout
    assert "Usage" in shown
    assert "\\[" not in shown
    assert set(written(COMMANDS[path])) <= set(shown.split())


def test_the_extras_are_among_them() -> None:
    assert {"'envwire[otel]'.", "'envwire[dashboard]'."} <= set(written(COMMANDS[("serve",)]))


@pytest.mark.parametrize(
    "path", [path for path, one in COMMANDS.items() if not hasattr(one, "commands")], ids=" ".join
)
def test_a_command_has_an_example(path: tuple[str, ...]) -> None:
    assert f"Example: envwire {' '.join(path)} " in COMMANDS[path].help


@pytest.mark.parametrize("path", [("serve",), ("export",), ("dashboard",)], ids=" ".join)
def test_an_argument_that_may_be_repeated_has_one_ellipsis(path: tuple[str, ...]) -> None:
    usage, *_ = CliRunner().invoke(app, [*path, "--help"]).stdout.strip().splitlines()
    assert usage.count("...") <= 1


def test_commands_are_shown_by_what_they_are_for() -> None:
    shown = CliRunner().invoke(app, ["--help"]).stdout
    assert "Look at servers" in shown
    assert "─ Commands ─" not in shown
