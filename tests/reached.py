"""Which tests run a line: of a mutant, only those have to run, the fastest first, and none if no test runs its line.

Lines that run in other processes, or when a module is imported, are not seen. What is computed once and kept is seen in
the first test that needs it.
"""

from __future__ import annotations

import ast
import json
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import pytest


class Tracer:
    """A plugin of pytest that notes which tests run the lines of some files, and how long each takes.

    Args:
        files: Names of the files, by their absolute paths.
        out: File that receives what was noted, when all tests have run.
    """

    def __init__(self, files: Mapping[str, str], out: Path) -> None:
        self._files, self._out = files, out
        self._test, self._began = "", 0.0
        self._lines: dict[str, set[str]] = {}
        self._took: dict[str, float] = {}

    def _trace(self, frame: FrameType, _: str, __: Any) -> Any:
        name = self._files.get(frame.f_code.co_filename)
        if name is None:
            return None

        def note(frame: FrameType, event: str, _: Any) -> Any:
            if event == "line":
                self._lines.setdefault(f"{name}:{frame.f_lineno}", set()).add(self._test)
            return note

        return note

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Begins to note the lines of a test."""
        self._test, self._began = nodeid, time.process_time()
        sys.settrace(self._trace)
        threading.settrace(self._trace)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Ends noting them."""
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]  # which undoes it
        self._took[nodeid] = time.process_time() - self._began

    def pytest_sessionfinish(self) -> None:
        """Writes what was noted."""
        lines = {line: sorted(tests) for line, tests in self._lines.items()}
        self._out.write_text(json.dumps([lines, self._took]))


class Chosen:
    """A plugin of pytest that runs only some tests, in a given order."""

    def __init__(self, tests: Iterable[str]) -> None:
        self._order = {test: number for number, test in enumerate(tests)}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leaves out the others."""
        chosen = (item for item in items if item.nodeid in self._order)
        items[:] = sorted(chosen, key=lambda item: self._order[item.nodeid])


class Reached(NamedTuple):
    """What a tracer noted: the tests of each line, and the processor time of each test."""

    lines: dict[str, list[str]]
    took: dict[str, float]

    @classmethod
    def read(cls, noted: Path) -> Reached:
        """Reads it."""
        return cls(*json.loads(noted.read_text()))

    def tests(self, name: str, source: bytes, line: int) -> list[str]:
        """Returns the tests that run the statement at a line, the fastest first; all if it runs at import."""
        begin, end = _statement(ast.parse(source), line)
        found = {
            test for each in range(begin, end) for test in self.lines.get(f"{name}:{each}", ())
        }
        return sorted(
            found if _is_in_function(source, line) else self.took, key=self.took.__getitem__
        )


def _statement(tree: ast.Module, line: int) -> tuple[int, int]:
    """Returns the lines of the smallest statement at a line, of a compound one those before its body."""
    found = [
        (first, last)
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt)
        for first, last in [_lines(node)]
        if first <= line < last
    ]
    return min(found, key=lambda each: each[1] - each[0])


def _lines(node: ast.stmt) -> tuple[int, int]:
    body = getattr(node, "body", None)
    return node.lineno, body[0].lineno if body else (node.end_lineno or node.lineno) + 1


def _is_in_function(source: bytes, line: int) -> bool:
    return any(
        node.body[0].lineno <= line <= (node.end_lineno or 0)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
