"""The `envwire` commands of the pages exist, with the options and arguments that the pages give; none is run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from envwire.server.cli._app import app

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

#: A line of shell in a block, fenced or indented, that begins with the command.
_LINE = re.compile(r"^(?: {4}|\$ )?(?:until |[A-Z_]+=\S+ )*envwire ([^$`\n]+)$", re.MULTILINE)
_ROOT: Any = typer.main.get_command(app)


def _commands(page: Path) -> list[list[str]]:
    """Returns the words after `envwire` of each command, without what the shell does with it."""
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in _LINE.findall(text) if "..." not in line]
    return [shlex.split(re.split(r" [&|]| ?;| \d?>", line)[0], comments=True) for line in lines]


def _parse(words: list[str]) -> None:
    command = _ROOT
    while hasattr(command, "commands"):
        context = command.context_class(command)
        _, command, words = command.resolve_command(context, words)
    command.make_context(command.name, words)


@pytest.mark.parametrize("page", [page for page in PAGES if _commands(page)], ids=lambda p: p.stem)
def test_commands_take_what_the_pages_give_them(page: Path) -> None:
    for words in _commands(page):
        _parse(words)


def test_what_a_command_does_not_take_is_noticed() -> None:
    with pytest.raises(Exception, match="--threads"):
        _parse(["serve", "CartPole-v1", "--threads", "4"])
