"""One test for all rows of a table: it reports every row that fails, and not each row as a test."""

from __future__ import annotations

import functools
import inspect
import traceback
from collections.abc import Callable, Iterable, Mapping
from typing import Any


def each(
    names: str | tuple[str, ...], rows: Iterable[Any] | Mapping[str, Any]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Returns a decorator that calls a test for each row, as `pytest.mark.parametrize` names its arguments.

    For tests without fixtures that one row could leave changed for the next.

    Args:
        names: The arguments that a row has values for.
        rows: The values, or these by what failures call them.
    """
    named = [*rows.items()] if isinstance(rows, Mapping) else [(str(row), row) for row in rows]
    assert named, "a table without rows tests nothing"
    single = isinstance(names, str)

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def run(**fixtures: Any) -> None:
            failures: list[str] = []
            for name, row in named:
                values = {names: row} if single else dict(zip(names, row, strict=True))
                try:
                    test(**fixtures, **values)
                except Exception:
                    failures.append(f"{name}: {traceback.format_exc()}")
            told = "\n".join(failures)
            assert not failures, f"{len(failures)} of {len(named)} rows fail\n{told}"

        left = [
            parameter
            for name, parameter in inspect.signature(test).parameters.items()
            if name not in ([names] if single else names)
        ]
        run.__signature__ = inspect.Signature(left)  # type: ignore[attr-defined]
        return run

    return decorate
