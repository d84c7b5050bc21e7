"""The names of the standard library that Python lacks on another system, as typeshed's stubs tell them.

typeshed checks its stubs against Python on Linux, macOS and Windows. The stubs come with mypy.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import mypy

from tests.conftest import ROOT

_STUBS = Path(mypy.__file__).parent / "typeshed/stdlib"
#: What runs on each system: the client and what it imports of envwire.
CLIENT = ("client/python/envwire", "protos/envwire")
#: The module that holds the methods of a class which its public module only extends.
_BASES = {"socket": "_socket"}


@cache
def absent_names(system: str) -> dict[str, frozenset[str]]:
    """Returns the names that another system lacks, by module, for each module that the client imports.

    A method is named "class.method".

    Args:
        system: "darwin" or "win32", as `sys.platform` says it.
    """
    found = {module: frozenset(_absent(module, system)) for module in _imported()}
    return {module: names for module, names in found.items() if names}


def _absent(module: str, system: str) -> Iterator[str]:
    here, there = _names(module, "linux"), _names(module, system)
    for name in here - there:
        if (owner := name.partition(".")[0]) == name or owner in there:
            yield name


def absent_modules(system: str) -> set[str]:
    """Returns the modules of the standard library that another system lacks."""
    modules = (path.stem for path in _STUBS.glob("*.pyi"))
    return {each for each in modules if _public(each, "linux") and not _public(each, system)}


def _public(module: str, system: str) -> set[str]:
    return {name for name in _names(module, system) if not name.startswith("_")}


def touched_names(system: str) -> dict[str, list[str]]:
    """Returns the names in the client's source that another system lacks, with the files that have them."""
    absent = absent_names(system)
    methods = {name.split(".")[1] for names in absent.values() for name in names if "." in name}
    files: dict[str, list[str]] = {}
    for path in _sources():
        for name in sorted({*_touched(path, absent, methods)}):
            files.setdefault(name, []).append(path.name)
    return files


def _touched(path: Path, absent: dict[str, frozenset[str]], methods: set[str]) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module in absent:
            names = {alias.name for alias in node.names}
            yield from (f"{node.module}.{name}" for name in names & absent[node.module])
        elif isinstance(node, ast.Attribute):
            owner = node.value.id if isinstance(node.value, ast.Name) else ""
            if node.attr in absent.get(owner, ()):
                yield f"{owner}.{node.attr}"
            elif node.attr in methods:
                yield node.attr


def _sources() -> Iterator[Path]:
    for package in CLIENT:
        yield from sorted(Path(ROOT, package).rglob("*.py"))


@cache
def _imported() -> frozenset[str]:
    modules: set[str] = set()
    for path in _sources():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                modules.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                modules.add(node.module)
    return frozenset(modules & sys.stdlib_module_names - {"__future__", "typing"})


@cache
def _names(module: str, system: str) -> frozenset[str]:
    path = _STUBS / f"{module}.pyi"
    path = path if path.exists() else _STUBS / module / "__init__.pyi"
    names = set(_defined(ast.parse(path.read_text()).body, system))
    if module in _BASES:
        names |= {name for name in _names(_BASES[module], system) if "." in name}
    return frozenset(names)


def _defined(body: Iterable[ast.stmt], system: str) -> Iterator[str]:
    """Yields what the statements of a stub define on a system."""
    for statement in body:
        if isinstance(statement, ast.If):
            holds = _holds(statement.test, system)
            yield from _defined(statement.body if holds else statement.orelse, system)
        elif isinstance(statement, ast.ClassDef):
            yield statement.name

            yield from (f"{statement.name}.{name}" for name in _defined(statement.body, system))
        elif isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            yield statement.name
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            yield statement.target.id
        elif isinstance(statement, ast.Assign):
            yield from (each.id for each in statement.targets if isinstance(each, ast.Name))
        elif isinstance(statement, ast.ImportFrom):
            yield from (alias.asname for alias in statement.names if alias.asname)


def _holds(test: ast.expr, system: str) -> bool:
    """Returns whether a condition of a stub, on the system and the version, holds."""
    here = SimpleNamespace(platform=system, version_info=sys.version_info, maxsize=sys.maxsize)
    code = compile(ast.Expression(test), "<stub>", "eval")
    return bool(eval(code, {"sys": here, "TYPE_CHECKING": True}))
