"""Draws the picture of docs/architecture.md from traces of the code: `python -m tests.unit.docs.tour`.

It shows which of the files that the page links to a Make, a step and a loss pass through, in the order of the page.
"""

from __future__ import annotations

import re
import tempfile
from itertools import pairwise
from pathlib import Path
from xml.sax.saxutils import escape

from benchmarks.walks import Walk, lives, walks

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "architecture.md"
PICTURE = ROOT / "docs" / "images" / "tour.svg"

#: The rows, by the names of the walks.
ROWS = {
    "make": "A Make",
    "direct": "A step, directly",
    "stream": "A step, over gRPC",
    "loss": "A loss, replayed",
}
#: The columns, with a background for each.
SIDES = {"client": "#e8f0fe", "front": "#fef3d8", "session": "#e6f4e6"}
TITLES = {"client": "client", "front": "front", "session": "session process"}
_LINK = re.compile(r"\]\(\.\./([\w./]+/envwire/([\w./]+\.py))\)")
_WIDTH, _GAP, _LEFT, _LINE, _PADDING = 272, 44, 8, 17, 10


def named_files(page: str) -> list[str]:
    """Returns the files that the tour links to, as traces name them."""
    tour = page.partition("## Where to look next")[0]
    return list(dict.fromkeys(match[2] for match in _LINK.finditer(tour)))


def traced() -> dict[str, dict[str, Walk]]:
    """Returns the walks of the rows, traced now."""
    with tempfile.TemporaryDirectory() as folder:
        found = {**walks(Path(folder)), **lives(Path(folder))}
    return {row: found[row] for row in ROWS}


def shown(found: dict[str, dict[str, Walk]], named: list[str]) -> dict[str, dict[str, list[str]]]:
    """Returns the named files that each row passes through on each side."""
    return {
        row: {side: _passed(walk, named) for side, walk in sides.items()}
        for row, sides in found.items()
    }


def _passed(walk: Walk, named: list[str]) -> list[str]:
    passed = {part.partition(":")[0] for part in walk}
    return [file for file in named if file in passed]


def picture(rows: dict[str, dict[str, list[str]]]) -> str:
    """Returns the picture, as SVG."""
    parts: list[str] = []
    top = 34
    for row, sides in rows.items():
        height = 2 * _PADDING + _LINE * max(map(len, sides.values()))
        parts.append(f'<text x="{_LEFT}" y="{top + 14}" font-weight="bold">{ROWS[row]}</text>')
        top += 22
        parts += _arrows(sides, top + height // 2)
        for side, files in sides.items():
            if files:
                parts += _cell(side, files, top, height)
        top += height + 14
    width = 2 * _LEFT + 3 * _WIDTH + 2 * _GAP
    heads = [
        f'<text x="{_x(side) + _WIDTH // 2}" y="22" text-anchor="middle" fill="#666">{title}</text>'
        for side, title in TITLES.items()
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {top}" '
            'font-family="sans-serif" font-size="13" role="img">',
            "<title>The files that a Make, a step and a loss pass through</title>",
            '<defs><marker id="end" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            'orient="auto-start-reverse"><path d="M0 0 8 4 0 8z" fill="#333"/></marker></defs>',
            f'<rect width="{width}" height="{top}" fill="#fff"/>',
            *heads,
            *parts,
            "</svg>\n",
        ]
    )


def _x(side: str) -> int:
    return _LEFT + list(SIDES).index(side) * (_WIDTH + _GAP)


def _cell(side: str, files: list[str], top: int, height: int) -> list[str]:
    x = _x(side)
    box = (
        f'<rect x="{x}" y="{top}" width="{_WIDTH}" height="{height}" rx="4" '
        f'fill="{SIDES[side]}" stroke="#333"/>'
    )
    lines = [
        f'<text x="{x + 8}" y="{top + _PADDING + _LINE * index + 13}" font-family="monospace" '
        f'font-size="11.5">{escape(_short(file))}</text>'
        for index, file in enumerate(files)
    ]
    return [box, *lines]


def _short(file: str) -> str:
    """Returns a file without its package, which the column tells, unless it is of another one."""
    return re.sub(r"^(client|server)/", "", file)


def _arrows(sides: dict[str, list[str]], y: int) -> list[str]:
    """Returns arrows between the sides that take part, past those that do not."""
    present = [side for side in SIDES if sides.get(side)]
    return [
        f'<path d="M{_x(one) + _WIDTH} {y}H{_x(other)}" stroke="#333" stroke-width="1.5" '
        'marker-start="url(#end)" marker-end="url(#end)"/>'
        for one, other in pairwise(present)
    ]


if __name__ == "__main__":
    drawn = shown(traced(), named_files(PAGE.read_text("utf-8")))
    PICTURE.write_text(picture(drawn), "utf-8")
