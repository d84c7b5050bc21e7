"""Do tests notice a defect? Changes one operator, constant or statement of the core at a time and runs its own tests.

`python -m tests.mutation` lists the changes that no test noticed: each is a test that is missing, or code that does
nothing. The changes are drawn at random with a seed. They are made in copies of the checkout, in processes forked from
one that has imported the libraries, because an import takes longer than most of these tests. Of a folder's own unit
tests, only those run that reach the changed line.

What it prints can be given back with `--again`, to see whether new tests notice those that survived.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import os
import random
import select
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

from tests.reached import Chosen, Reached, Tracer

ROOT = Path(__file__).parent.parent
#: Longest run of the tests of one mutant; a loop without an end takes as long.
SECONDS = 300.0
#: Longest run of one test.
TEST_SECONDS = 60.0
SOURCES = (
    "protos",
    "envs",
    "client/python",
    "server",
    "farm",
    "conformance",
    "dashboard",
    "testing",
)

#: What is imported before the forks: not plugins of pytest, which rewrites them.
LIBRARIES = ("pytest", "numpy", "grpc", "gymnasium", "google.protobuf.json_format")

#: Folders that are changed, with their own tests, and those that drive them on real servers.
OWNERS = {
    "client/python/envwire/client/_session": (
        "tests/unit/client/session",
        "tests/unit/client/recovery tests/unit/client/drivers tests/direct/test_resuming.py "
        "tests/compliance/test_chunks.py tests/vector/test_replay.py",
    ),
    "client/python/envwire/client/_recovery": (
        "tests/unit/client/recovery tests/unit/client/drivers",
        "tests/vector/test_losses.py tests/faults/test_loss.py tests/faults/test_draining.py",
    ),
    "client/python/envwire/client/_vector": (
        "tests/unit/client/vector",
        "tests/vector/test_rollouts.py tests/vector/test_members.py tests/vector/test_losses.py "
        "tests/vector/test_making.py tests/aio",
    ),
    "protos/envwire/codec": (
        "tests/unit/codec",
        "tests/vectors tests/unit/client/vector tests/compliance/test_env_api.py",
    ),
    "server/envwire/server/_front": (
        "tests/unit/server/front",
        "tests/direct/test_sessions.py tests/security/test_limits.py tests/security/test_tokens.py "
        "tests/operations/test_http_port.py tests/operations/test_admin.py "
        "tests/operations/test_watch.py tests/conformance/test_server.py",
    ),
}

_COMPARED = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
_COMPUTED = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "//", ast.FloorDiv: "*", ast.Div: "*", ast.Mod: "*",
    ast.BitAnd: "|", ast.BitOr: "&", ast.LShift: ">>", ast.RShift: "<<",
}  # fmt: skip
#: Fields of a node that hold types, or what runs at import.
_LEFT = {"annotation", "returns", "decorator_list", "bases", "type_params"}


class Mutant(NamedTuple):
    """A change: bytes of a file, and what stands there instead."""

    folder: str
    path: Path
    line: int
    begin: int
    end: int
    new: str

    def text(self) -> bytes:
        source = (ROOT / self.path).read_bytes()
        return source[: self.begin] + self.new.encode() + source[self.end :]

    def __str__(self) -> str:
        old = (ROOT / self.path).read_bytes()[self.begin : self.end].decode()
        return f"{self.path}:{self.line}: {' '.join(old.split())} -> {self.new}"


def mutants(folder: str, path: Path) -> Iterator[Mutant]:
    """Yields all changes of a file, of which some cannot be compiled."""
    text = path.read_bytes()
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node in _nodes(ast.parse(text)):
        for place, new in _changes(node):
            assert place.end_lineno is not None
            assert place.end_col_offset is not None
            begin = starts[place.lineno - 1] + place.col_offset
            end = starts[place.end_lineno - 1] + place.end_col_offset
            yield Mutant(folder, path.relative_to(ROOT), place.lineno, begin, end, new)


def _nodes(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.JoinedStr | ast.Subscript) or _is_for_type_checkers(node):
        return
    yield node
    for field, value in ast.iter_fields(node):
        if field not in _LEFT:
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _nodes(child)


def _is_for_type_checkers(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def _changes(node: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    """Yields what is replaced, and by what."""
    if isinstance(node, ast.expr):
        yield from ((node, new) for new in _other_values(node))
    elif isinstance(node, ast.stmt):
        yield from ((node, new) for new in _other_statements(node))
    match node:
        case ast.If(ast.Name() | ast.Attribute() | ast.Call() as test):
            yield test, f"(not {ast.unparse(test)})"


def _other_values(node: ast.expr) -> Iterator[str]:
    match node:
        case ast.Compare(left, [operator], [right]):
            yield f"({ast.unparse(left)} {_COMPARED[type(operator)]} {ast.unparse(right)})"
        case ast.BinOp(left, operator, right) if type(operator) in _COMPUTED:
            yield f"({ast.unparse(left)} {_COMPUTED[type(operator)]} {ast.unparse(right)})"
        case ast.BoolOp(operator, values):
            other = " or " if isinstance(operator, ast.And) else " and "
            yield f"({other.join(f'({ast.unparse(each)})' for each in values)})"
            yield f"({ast.unparse(values[0])})"
        case ast.UnaryOp(ast.Not(), operand):
            yield f"({ast.unparse(operand)})"
        case ast.IfExp(test, body, orelse):
            yield f"({ast.unparse(orelse)} if {ast.unparse(test)} else {ast.unparse(body)})"
        case ast.Constant(bool(value)):
            yield str(not value)
        case ast.Constant(int(value) | float(value)):
            yield str(value + 1)


def _other_statements(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.Expr(ast.Call() | ast.Await()) | ast.Raise() | ast.AugAssign():
            yield "pass"
        case ast.Assign([ast.Attribute()]):
            yield "pass"
        case ast.Return(value) if value is not None and ast.unparse(value) != "None":
            yield "return None"
        case ast.Continue():
            yield "break"


def drawn(count: int, seed: int) -> list[Mutant]:
    """Returns as many mutants of each folder as its share of the code asks for."""
    every = [
        mutant
        for folder in OWNERS
        for path in sorted((ROOT / folder).rglob("*.py"))
        for mutant in mutants(folder, path)
    ]
    random.Random(seed).shuffle(every)
    return list(islice(filter(_compiles, every), count))


def _compiles(mutant: Mutant) -> bool:
    with contextlib.suppress(SyntaxError):
        ast.parse(mutant.text())
        return True
    return False


def named(lines: Path) -> list[Mutant]:
    """Returns the mutants that survived in an earlier run, by what it printed."""
    names = [
        line.removeprefix("survived ")
        for line in lines.read_text().splitlines()
        if line.startswith("survived ")
    ]
    paths = {Path(name.partition(":")[0]) for name in names}
    found = {
        str(mutant): mutant
        for folder in OWNERS
        for path in sorted(paths)
        if path.is_relative_to(folder)
        for mutant in mutants(folder, ROOT / path)
    }
    if missing := [name for name in names if name not in found]:
        sys.exit("\n".join(["the code has changed, there is no such mutant:", *missing]))
    return [found[name] for name in names]


def survives(mutant: Mutant, copy: Path, tests: str, reached: Reached | None) -> bool:
    """Returns whether tests pass in a copy of the checkout that has a mutant; those that reach it, if that is known."""
    plugins = list[object]()
    if reached is not None:
        source = (ROOT / mutant.path).read_bytes()
        chosen = reached.tests(str(mutant.path), source, mutant.line)
        if not chosen:
            return True
        tests = " ".join(sorted({test.partition("::")[0] for test in chosen}))
        plugins = [Chosen(chosen)]
    changed = copy / mutant.path
    changed.write_bytes(mutant.text())
    try:
        return passes(tests, copy, plugins)
    finally:
        shutil.copyfile(ROOT / mutant.path, changed)


def own_tests(mutant: Mutant) -> str:
    """Returns the unit tests of a mutant's file: those of its folder, if that has its own."""
    own, folder = OWNERS[mutant.folder][0], Path(mutant.folder)
    inner = mutant.path.parent.relative_to(folder)
    return str(Path(own) / inner) if (ROOT / own / inner).is_dir() else own


def trace(tests: str, copy: Path, mutated: Iterable[Mutant]) -> Reached:
    """Runs tests in a copy of the checkout, all of which have to pass; returns which reach the lines of some files."""
    names = {str(mutant.path) for mutant in mutated}
    noted = copy / "reached.json"
    tracer = Tracer({str(copy / name): name for name in names}, noted)
    assert passes(tests, copy, [tracer], SECONDS), f"unchanged, it fails as well: {tests}"
    return Reached.read(noted)


def passes(
    tests: str, copy: Path, plugins: Sequence[object] = (), timeout: float = TEST_SECONDS
) -> bool:
    """Returns whether tests pass in a copy of the checkout."""
    pid = os.fork()
    if pid == 0:
        _run_tests(
            copy, [path for path in tests.split() if (copy / path).exists()], plugins, timeout
        )
    return _ends_well(pid)


def _ends_well(pid: int) -> bool:
    """Waits for a process, but not for ever, and ends all that it left behind."""
    ended = select.poll()
    ended.register(process := os.pidfd_open(pid), select.POLLIN)
    ended.poll(SECONDS * 1000)
    os.close(process)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    return os.waitpid(pid, 0)[1] == 0


def _run_tests(copy: Path, paths: list[str], plugins: Sequence[object], timeout: float) -> None:
    import pytest

    status = 1
    try:
        os.setsid()
        os.chdir(copy)
        quiet = os.open(os.devnull, os.O_RDWR)
        for descriptor in range(3):
            os.dup2(quiet, descriptor)
        places = [str(copy), *(str(copy / source) for source in SOURCES)]
        sys.path[:0] = places
        os.environ |= {"PYTHONPATH": os.pathsep.join(places), "PYTHONDONTWRITEBYTECODE": "1"}
        sys.dont_write_bytecode = True
        options = ["-x", "-q", "-p", "no:cacheprovider", "--tb=no", f"--timeout={timeout}"]
        status = int(pytest.main([*options, "-m", "not (long or slow)", *paths], plugins))
    finally:
        os._exit(status)


def main() -> int:
    """Draws mutants, runs their tests, and prints those that survive."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--again", type=Path, help="output of an earlier run, for its survivors")
    parser.add_argument("--own", action="store_true", help="run each folder's own unit tests only")
    parser.add_argument("--tests", help="run these instead, paths in one argument")
    asked = parser.parse_args()
    for library in LIBRARIES:
        importlib.import_module(library)
    left = named(asked.again) if asked.again else drawn(asked.count, asked.seed)
    count = len(left)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(asked.workers) as threads:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(asked.workers):
            copies.put(_copy(Path(folder) / str(number)))

        reached = dict[str, Reached]()

        def check(mutant: Mutant, tests: str) -> bool:
            copy = copies.get()
            try:
                survived = survives(mutant, copy, tests, reached.get(tests))
            finally:
                copies.put(copy)
            print("survived" if survived else "killed  ", mutant, flush=True)
            return survived

        for stage, whose in enumerate(_stages(asked)):
            for tests in sorted(set(map(whose, left))):
                mutated = [mutant for mutant in left if whose(mutant) == tests]
                if whose is own_tests:
                    reached[tests] = trace(tests, Path(folder) / "0", mutated)
                else:
                    assert passes(tests, Path(folder) / "0"), f"it fails as well: {tests}"
            survived = threads.map(check, left, map(whose, left))
            left = [mutant for mutant, alive in zip(left, survived, strict=True) if alive]
            print(f"{len(left)} of {count} survived stage {stage}", flush=True)
    return int(bool(left))


def _stages(asked: argparse.Namespace) -> list[Callable[[Mutant], str]]:
    """Returns what names the tests of a mutant, for each stage."""
    if asked.tests:
        return [lambda mutant: asked.tests]
    return [own_tests] if asked.own else [own_tests, lambda mutant: OWNERS[mutant.folder][1]]


def _copy(folder: Path) -> Path:
    """Copies the checkout."""
    return shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(".*", "node_modules"))


if __name__ == "__main__":
    sys.exit(main())
