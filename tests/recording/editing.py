"""Changes recordings, entry by entry."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from envwire.wire.recordings import EntryReader, framed


def edited(path: Path, to: Path, edit: Callable[[int, Any], None]) -> Path:
    """Writes a copy of a recording, of which each entry was passed to `edit`."""
    with path.open("rb") as file, to.open("wb") as out:
        for number, entry in enumerate(EntryReader(file)):
            edit(number, entry)
            kind = entry.WhichOneof("entry") or ""
            content = getattr(entry, kind).SerializeToString()
            out.writelines(framed(kind, entry.at, [content]))
    return to
