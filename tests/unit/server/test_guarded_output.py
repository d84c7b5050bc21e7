"""Text of others does not control a terminal, and no program of ours prints past the streams that see to it."""

from __future__ import annotations

import ast
import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from envwire.server._guarded_output import GuardedStream, escaped, escaped_except_colours
from tests.conftest import ROOT

SOURCES = ("server", "farm", "conformance", "dashboard", "testing", "integrations/openenv")
#: Programs whose output is not a terminal: a pipe, which the server's log reads.
PIPED = {
    "server/envwire/server/_worker/confined_start.py",
    "server/envwire/server/_worker/main.py",
}
#: The command line, whose `main` guards its streams before anything else.
COMMANDS = {"server/envwire/__main__.py"}
#: The files that write control characters, and what they draw: pictures and tables.
DRAWING = {"server/envwire/server/cli/_console.py", "server/envwire/server/cli/_inspect/watch.py"}
#: Ways past the streams, in the words of the syntax tree.
PAST = ("Console(", "sys.__stdout__", "sys.__stderr__", "sys.stdout.buffer", "sys.stderr.buffer")
#: One of them is in each file that goes such a way, or draws.
WORDS = ("Console", "__stdout__", "__stderr__", "buffer", "drawing")


@pytest.mark.parametrize(
    ("text", "shown", "coloured"),
    [
        ("plain\ttext, ümlaut\n", "plain\ttext, ümlaut\n", "plain\ttext, ümlaut\n"),
        ("\x1b[2J", "\\u001b[2J", "\\u001b[2J"),
        ("\x9b2J\x07\x7f\r", "\\u009b2J\\u0007\\u007f\\u000d", "\\u009b2J\\u0007\\u007f\\u000d"),
        ("\u202egpj", "\\u202egpj", "\\u202egpj"),
        ("\x1b[31mred\x1b[0m", "\\u001b[31mred\\u001b[0m", "\x1b[31mred\x1b[0m"),
        ("\x1b[31mred", "\\u001b[31mred", "\x1b[31mred\x1b[0m"),
        ("\x1b[31;?1m", "\\u001b[31;?1m", "\\u001b[31;?1m"),
    ],
)
def test_what_is_shown(text: str, shown: str, coloured: str) -> None:
    assert escaped(text) == shown
    assert escaped_except_colours(text) == coloured


def test_json_stays_the_same_document() -> None:
    told = {"text": "\x9b2J \x7f \u202e \x1b"}
    assert json.loads(escaped(json.dumps(told, ensure_ascii=False))) == told


@pytest.mark.parametrize(
    ("encoding", "written"), {"utf-8": "é\\u001b".encode(), "ascii": b"?\\u001b"}.items()
)
def test_a_stream_escapes_whatever_is_written(encoding: str, written: bytes) -> None:
    file = io.BytesIO()
    stream = GuardedStream(io.TextIOWrapper(file, encoding=encoding))
    stream.write("é\x1b")
    stream.writelines(["é\x1b"])
    print("é\x1b", end="", file=stream, flush=True)
    assert file.getvalue() == 3 * written


def _sources(*words: str) -> Iterator[tuple[str, ast.Module]]:
    """Yields the files with one of some words, parsed: that takes a hundred times as long as a look."""
    for root in SOURCES:
        for path in sorted(Path(ROOT, root).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            if "node_modules" not in path.parts and any(word in text for word in words):
                yield str(path.relative_to(ROOT)), ast.parse(text)


def _used(tree: ast.Module) -> Iterator[str]:
    """Yields the names that a file calls, with a bracket, and the attributes that it reads."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func) + "("
        elif isinstance(node, ast.Attribute):
            yield ast.unparse(node)


def test_every_program_guards_its_output() -> None:
    programs = {
        name: set(_used(tree))
        for name, tree in _sources("__main__", "guard_output")
        if "__name__ == '__main__'" in ast.unparse(tree)
        or name == "server/envwire/server/cli/__init__.py"
    }
    assert programs.keys() >= PIPED | COMMANDS
    unguarded = {name for name, used in programs.items() if "guard_output(" not in used}
    assert unguarded == PIPED | COMMANDS


def test_nothing_prints_past_the_guarded_streams() -> None:
    found = {name: set(_used(tree)) for name, tree in _sources(*WORDS)}
    assert {name: used & set(PAST) for name, used in found.items() if used & set(PAST)} == {}
    assert {name for name, used in found.items() if "drawing(" in used} == DRAWING


def test_the_search_finds_a_way_past() -> None:
    program = "Console().print(1); sys.__stdout__.write(''); sys.stdout.buffer.write(b'')"
    assert {*_used(ast.parse(program))} >= {"Console(", "sys.__stdout__", "sys.stdout.buffer"}
