"""Imports the modules that the operator named, by dotted name or by file path."""

from __future__ import annotations

import importlib
import importlib.util
import sys
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
