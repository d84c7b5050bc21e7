"""No two modules of envwire need each other, counting imports for types and imports in functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import envwire

#: The one import that may close a circle: a spec makes its environment, and an environment has a
#: spec. It stands in `EnvSpec.make`, and is done when that is called.
SPEC_MAKES = ("envwire.envs.specs", "envwire.envs.envs.making")

#: The modules that each module imports, both by their dotted names.
Graph = dict[str, set[str]]


def find_modules() -> dict[str, Path]:
    """Every module of envwire that is not generated, by its dotted name."""
    found: dict[str, Path] = {}
    for root in map(Path, envwire.__path__):
        for path in root.rglob("*.py"):
            if not path.stem.endswith(("_pb2", "_pb2_grpc")):
                parts = ["envwire", *path.relative_to(root).with_suffix("").parts]
                found[".".join(parts).removesuffix(".__init__")] = path
    return found


def imported_names(tree: ast.AST) -> Iterator[tuple[str, str | None]]:
    """Yields (module, name imported from it) of every import statement, wherever it stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "envwire has no relative imports"
            yield from ((str(node.module), alias.name) for alias in node.names)


def import_graph(sources: dict[str, str]) -> Graph:
    """Returns which of the modules ``sources`` import which others of them."""
    graph: Graph = {}
    for module, source in sources.items():
        graph[module] = set()
        for base, name in imported_names(ast.parse(source)):
            submodule = f"{base}.{name}"
            graph[module].add(submodule if submodule in sources else base)
        graph[module] &= sources.keys() - {module}
    return graph


def find_circle(graph: Graph) -> list[str]:
    """Returns the modules of one circle, the first again at the end; nothing if there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as exc:
        circle: list[str] = exc.args[1][::-1]
        return circle
    return []


def without(graph: Graph, *edges: tuple[str, str]) -> Graph:
    """Returns the graph without some imports, each as (importing module, imported module)."""
    return {
        module: {other for other in imported if (module, other) not in edges}
        for module, imported in graph.items()
    }


@pytest.fixture(scope="module")
def graph() -> Graph:
    return import_graph({name: path.read_text("utf-8") for name, path in find_modules().items()})


def test_no_modules_import_each_other(graph: Graph) -> None:
    circle = find_circle(without(graph, SPEC_MAKES))
    assert not circle, (
        f"Modules import each other: {' -> '.join(circle)}. "
        "Move what both need, types included, to a module of its own"
    )


def test_a_spec_does_make_its_environment(graph: Graph) -> None:
    assert set(SPEC_MAKES) <= set(find_circle(graph))


def test_specs_know_making_only_inside_make() -> None:
    tree = ast.parse(find_modules()[SPEC_MAKES[0]].read_text("utf-8"))
    makes = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == "make"]
    (make,) = makes
    inside = [module for module, _ in imported_names(make)]
    everywhere = [module for module, _ in imported_names(tree)]
    assert inside == [SPEC_MAKES[1]]
    assert everywhere.count(SPEC_MAKES[1]) == 1


LAZY = "def f():\n    import b"
TYPED = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from b import B"


@pytest.mark.parametrize("source", ["import b", "from b import c", LAZY, TYPED])
def test_a_circle_is_found_whatever_the_import(source: str) -> None:
    circle = find_circle(import_graph({"a": source, "b": "import a", "c": "import a"}))
    assert sorted(set(circle)) == ["a", "b"]


def test_a_submodule_is_not_its_package() -> None:
    sources = {"a": "from a.b import B", "a.b": "from a import c", "a.c": ""}
    assert find_circle(import_graph(sources)) == []
