"""Imports the modules that the operator named, by dotted name or by file path, and keeps their sources as they were."""

from __future__ import annotations

import importlib
import importlib.util
import linecache
import os
import site
import sys
import sysconfig
import traceback
from pathlib import Path
from types import FrameType, ModuleType, TracebackType


class BrokenModuleError(ImportError):
    """A module that the operator named raised during its import; the text is its traceback."""


def import_named(name: str) -> ModuleType:
    """Imports `lab.envs`, or the file `lab.py`.

    Raises:
        BrokenModuleError: The module was not found, or raised; the text says where.
    """
    try:
        return _import_file(Path(name)) if name.endswith(".py") else importlib.import_module(name)
    except Exception as error:
        raise BrokenModuleError(_described(name, error)) from error


def _import_file(path: Path) -> ModuleType:
    name = path.stem
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _described(name: str, error: Exception) -> str:
    """Returns the traceback from the module's first frame on, without those that imported it."""
    if isinstance(error, ModuleNotFoundError) and error.name in {name, name.partition(".")[0]}:
        return (
            f"--import {name}: there is no module of that name. Run the server where it can be imported, or name the "
            f"file: --import {name.replace('.', '/')}.py"
        )
    if isinstance(error, FileNotFoundError) and error.filename == str(Path(name).absolute()):
        return f"--import {name}: there is no such file"
    lines = traceback.format_exception(type(error), error, _outside(error.__traceback__))
    return f"--import {name} raised:\n{''.join(lines).rstrip()}"


def _outside(frames: TracebackType | None) -> TracebackType | None:
    """Skips the frames of this file and of Python's import machinery."""
    while frames is not None and _imports(frames.tb_frame):
        frames = frames.tb_next
    return frames


def _imports(frame: FrameType) -> bool:
    file = frame.f_code.co_filename
    return file == __file__ or "importlib" in file


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
