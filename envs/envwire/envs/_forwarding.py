"""Properties that give a wrapper the attributes of the object it wraps."""

from __future__ import annotations

from operator import attrgetter
from typing import Any


def overridable(name: str) -> property:
    """The wrapped object's attribute, until the wrapper assigns its own (kept in ``_name``)."""
    own = f"_{name}"

    def read(wrapper: Any) -> Any:
        value = getattr(wrapper, own, None)
        return getattr(wrapper.env, name) if value is None else value

    def assign(wrapper: Any, value: Any) -> None:
        setattr(wrapper, own, value)

    return property(read, assign)


def read_only(name: str) -> property:
    """The wrapped object's attribute, for reading only."""
    return property(attrgetter(f"env.{name}"))


def forwarded(name: str) -> property:
    """The wrapped object's attribute, read and assigned there."""

    def assign(wrapper: Any, value: Any) -> None:
        setattr(wrapper.env, name, value)

    return read_only(name).setter(assign)
