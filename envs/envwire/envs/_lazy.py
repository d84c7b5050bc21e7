"""Public names of a package that are loaded when they are first used (PEP 562).

A package lists its names in a table of modules, for `lazy_names` and ``__all__``, and as imports
under ``TYPE_CHECKING`` for type checkers. Tests compare them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, names: Mapping[str, str], submodules: Iterable[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Returns the ``__getattr__`` and ``__dir__`` of a package.

    Args:
        package: The package's ``__name__``.
        names: For each module (relative to the package; ".wire.version" is beside it), the names that are taken from
            it, separated by spaces.
        submodules: The submodules that are attributes of the package.
    """
    modules = {name: f".{module}" for module, found in names.items() for name in found.split()}
    public = {*modules, *submodules}

    def load(name: str) -> Any:
        if name not in public:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if name not in modules:
            return import_module(f"{package}.{name}")  # which sets the attribute
        value = getattr(import_module(modules[name], package), name)
        setattr(sys.modules[package], name, value)
        return value

    def list_names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *public})

    return load, list_names
