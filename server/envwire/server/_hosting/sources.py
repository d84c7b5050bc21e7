"""Keeps the sources of the operator's modules as they were at import.

Python reads source lines only when it prints a traceback. After an edit, a traceback would show lines that never ran.
"""

from __future__ import annotations

import linecache
import os
import site
import sys
import sysconfig
from pathlib import Path


def operator_files() -> list[str]:
    """Returns the source files of imported modules that are not part of Python or of an installed package."""
    installed = _installed()
    files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    return sorted(
        {
            file
            for file in files
            if isinstance(file, str) and file.endswith(".py") and not file.startswith(installed)
        }
    )


def _installed() -> tuple[str, ...]:
    """Returns the folders of Python itself and of installed packages, including this one."""
    here = Path(__file__).parents[3]  # also in an editable installation
    paths = sysconfig.get_paths()
    roots = {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    roots |= {*site.getsitepackages(), site.getusersitepackages(), str(here)}
    return tuple(root + os.sep for root in roots)


def pin_sources() -> None:
    """Caches the operator's sources for tracebacks, in this process and in those forked from it."""
    for file in operator_files():
        lines = linecache.getlines(file)
        # An entry without a modification time is never checked against the file.
        linecache.cache[file] = (sum(map(len, lines)), None, lines, file)
