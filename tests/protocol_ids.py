"""The ids of docs/protocol.md's sentences, as docs/protocol-ids.txt lists them."""

from __future__ import annotations

from pathlib import Path

_LINES = [
    line.split()
    for line in (Path(__file__).parents[1] / "docs" / "protocol-ids.txt")
    .read_text("utf-8")
    .splitlines()
]
#: Those of today's sentences.
IDS = [line[0] for line in _LINES if len(line) == 1]
#: Those of sentences that are gone.
WITHDRAWN = [line[0] for line in _LINES if line[1:] == ["withdrawn"]]
#: Both, in the order of the file.
LISTED = [line[0] for line in _LINES]
