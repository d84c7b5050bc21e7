"""The options ``low`` and ``high`` of `reset`, between which the initial state is drawn."""

from __future__ import annotations

from typing import Any


def reset_bounds(options: dict[str, Any] | None, low: float, high: float) -> tuple[float, float]:
    """Returns the bounds in ``options``, with ``low`` and ``high`` for those not given.

    Raises:
        ValueError: A bound is not a number, or they are in the wrong order.
    """
    if options is None:
        return low, high
    low = require_number("low", options.get("low", low))
    high = require_number("high", options.get("high", high))
    if low > high:
        raise ValueError(f"options['low'] ({low}) must not exceed options['high'] ({high})")
    return low, high


def require_number(name: str, value: Any) -> float:
    """Returns the option as a float; raises `ValueError` if it is not a number."""
    try:
        return float(value)
    except (ValueError, TypeError) as exc:
        raise ValueError(f"options[{name!r}] must be a number, got {value!r}") from exc
