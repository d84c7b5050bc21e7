"""The pages' Python code runs and prints the documented output, tables match the code, and links are valid.

The blocks of a page share a namespace, in which `target` is a running server; so does "localhost:50051".
``<!-- not run: reason -->`` before a block leaves it out.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import envwire.envs as gym
from envwire.envs.envs.registration import EnvSpec
from envwire.server import Server

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
NEEDED = {
    "README.md": "gymnasium",
    "gymnasium.md": "gymnasium",
    "pettingzoo.md": "pettingzoo",
    "dm_env.md": "dm_env",
    "dm-env-rpc.md": "dm_env",
}

_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NOT_RUN = re.compile(r"<!-- not run: \S[^\n]*-->\s*\Z")
_SHOWN = re.compile(r"^ *print\(.*\)  # (.+)$", re.MULTILINE)
_FENCED = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")


def _blocks(page: Path) -> Iterator[str]:
    """Yields the Python of a page, each block moved down to the lines that it has there."""
    text = page.read_text(encoding="utf-8")
    for block in _BLOCK.finditer(text):
        if not _NOT_RUN.search(text, 0, block.start()):
            yield "\n" * text.count("\n", 0, block.start(1)) + block[1]


_WITH_EXAMPLES = [page for page in PAGES if any(_blocks(page))]


@pytest.fixture(autouse=True)
def _same_registry() -> Iterator[None]:
    before = dict(gym.registry)
    yield
    gym.registry.clear()
    gym.registry.update(before)


@pytest.mark.parametrize("page", _WITH_EXAMPLES, ids=lambda page: page.name)
def test_examples(
    page: Path,
    server: Server,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)  # for what they write
    if page.name in NEEDED:
        pytest.importorskip(NEEDED[page.name])
    names: dict[str, Any] = {"__name__": "__main__", "target": server.target}
    for block in _blocks(page):
        code = block.replace("localhost:50051", server.target)
        exec(compile(code, str(page), "exec"), names)
        printed = capsys.readouterr().out.splitlines()
        shown = _SHOWN.findall(block)
        assert not shown or printed == shown
    for value in list(names.values()):
        if hasattr(value, "close") and not inspect.isclass(value):
            value.close()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links(page: Path) -> None:
    links = _LINK.findall(_FENCED.sub("", page.read_text(encoding="utf-8")))
    assert [link for link in links if not (page.parent / link).exists()] == []


def _table(page: str, first_column: str) -> list[list[str]]:
    """Returns the rows of every table with this first column, without titles and backquotes."""
    rows: list[list[str]] = []
    inside = False
    for line in (ROOT / "docs" / page).read_text(encoding="utf-8").splitlines():
        cells = [cell.strip().replace("`", "") for cell in line.strip("| ").split(" | ")]
        if inside and line.startswith("|") and not line.startswith("|--"):
            rows.append(cells)
        inside = line.startswith(f"| {first_column} |") or (inside and line.startswith("|"))
    return rows


def _facts(spec: EnvSpec) -> list[str]:
    env = gym.make(spec)
    modes = ", ".join(sorted(env.metadata["render_modes"]))
    return [spec.id, str(env.action_space), str(spec.max_episode_steps), modes]


def test_the_table_of_environments_is_the_registrys() -> None:
    drawn = [[row[0], row[1], row[3], row[4]] for row in _table("environments.md", "id")]
    points = ((spec, str(spec.entry_point)) for spec in gym.registry.values())
    own = [
        spec
        for spec, point in points
        # Other tests may have registered the environments of the conformance suite.
        if point.startswith("envwire.envs.") and ".conformance." not in point
    ]
    assert sorted(drawn) == sorted(map(_facts, own))


def test_the_tables_of_wrappers_know_every_wrapper() -> None:
    modules = {"wrapper": gym.wrappers, "vector wrapper": gym.wrappers.vector}
    for page, column in (("wrappers.md", "wrapper"), ("vector.md", "vector wrapper")):
        drawn = [name for row in _table(page, column) for name in row[0].split(", ")]
        assert sorted(drawn) == sorted(set(modules[column].__all__) - {"vector"})
