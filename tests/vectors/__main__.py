"""`python -m tests.vectors` regenerates protos/vectors."""

from __future__ import annotations

from tests.vectors.files import FILES
from tests.vectors.vector import FOLDER

for name, written in FILES.items():
    (FOLDER / name).write_text(written(), encoding="utf-8")
