"""The files of golden vectors, and what is in each."""

from __future__ import annotations

from collections.abc import Callable

from tests.direct import vectors as direct
from tests.vectors import digests, messages, spaces, values
from tests.vectors.vector import text

FILES: dict[str, Callable[[], str]] = {
    "digests.json": lambda: text(digests.vectors()),
    "direct.json": direct.text,
    "errors.json": lambda: text(messages.error_vectors()),
    "messages.json": lambda: text(messages.vectors()),
    "random.json": lambda: text(spaces.random_vectors()),
    "spaces.json": lambda: text(spaces.vectors()),
    "values.json": lambda: text(values.vectors()),
}
