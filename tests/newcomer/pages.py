"""The commands and programs that a page shows."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]

#: Blocks of commands: fenced as `sh` or `console`, or indented by four columns.
_SHELL = re.compile(r"^```(?:sh|console)\n(.*?)^```$|((?:^ {4}\S.*\n)+)", re.MULTILINE | re.DOTALL)
#: Fenced blocks of programs, whose indented lines are no commands.
_PROGRAMS = re.compile(r"^```(?!sh$|console$)\w+\n.*?^```$", re.MULTILINE | re.DOTALL)
_PROGRAM = r"^```(?:{})\n(.*?)^```$"


@dataclass
class Page:
    """A page of the documentation, or one section of it."""

    path: str
    section: str = ""
    text: str = field(init=False)
    _left: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.text = (ROOT / self.path).read_text(encoding="utf-8")
        if self.section:
            behind = self.text.split(f"## {self.section}\n")[1]
            self.text = re.split(r"^## ", behind, maxsplit=1, flags=re.MULTILINE)[0]
        shown = _PROGRAMS.sub("", self.text)
        self._left = [line for block in _SHELL.finditer(shown) for line in _commands(block)]

    def command(self, begins: str) -> str:
        """Returns the next command that begins so."""
        for index, line in enumerate(self._left):
            if line.startswith(begins):
                return self._left.pop(index)
        raise LookupError(f"{self.path} shows no command {begins!r} (any more)")

    def commands(self) -> list[str]:
        """Returns all commands that are left."""
        left, self._left = self._left, []
        return left

    def program(self, language: str, holds: str = "") -> str:
        """Returns the first program in a language that has this text."""
        programs: list[str] = re.findall(
            _PROGRAM.format(language), self.text, re.MULTILINE | re.DOTALL
        )
        return next(program for program in programs if holds in program)


def _commands(block: re.Match[str]) -> list[str]:
    """Returns the lines of a block that are commands; behind a prompt, only those with one."""
    lines = [line.strip() for line in (block[1] or block[2]).splitlines()]
    if block[1] and any(line.startswith("$ ") for line in lines):
        lines = [line for line in lines if line.startswith("$ ")]
    return [re.sub(r"\s+#.*", "", line.removeprefix("$ ")) for line in lines if line]
