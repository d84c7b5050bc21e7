"""The folder of recordings, opened once: what is later put in its place gets no recordings."""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from envwire.server._recording.files import SUFFIX
from envwire.server.config import ServerConfig

_log = logging.getLogger("envwire.server")

_PRIVATE = 0o700

_Result = TypeVar("_Result")


def check_folder(config: ServerConfig) -> None:
    """Creates the folder, private to its owner, if the server records and it does not exist.

    An existing folder that others may enter is narrowed if it holds nothing but recordings.

    Raises:
        OSError: The folder cannot be created, is a link, no file can be created in it, or others may enter it.
    """
    if config.record:
        Path(config.record).mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
    for folder in open_folder(config):
        try:
            with tempfile.TemporaryFile(dir=f"/proc/self/fd/{folder}"):
                pass
            _narrow(config, folder)
        finally:
            os.close(folder)


def _narrow(config: ServerConfig, folder: int) -> None:
    status = os.fstat(folder)
    if not status.st_mode & 0o077:
        return
    if status.st_uid != os.geteuid():  # such as a volume that belongs to a group
        _log.warning("%s: users other than the server's may enter it", config.record)
    elif all(name.endswith(SUFFIX) for name in os.listdir(folder)):
        os.fchmod(folder, _PRIVATE)
    else:
        raise PermissionError(
            f"{config.record}: other users may enter it, and it holds other files than recordings. Give recordings a "
            f"folder of their own, or make it private: chmod 700 {config.record}"
        )


def entered(folder: int, act: Callable[[], _Result]) -> _Result:
    """Does something in the folder, also if an environment of the same user has changed its mode.

    Raises:
        OSError: It cannot be done.
    """
    try:
        return act()
    except PermissionError:
        os.fchmod(folder, _PRIVATE)
        return act()


def open_folder(config: ServerConfig) -> list[int]:
    """Opens the folder that is there now; empty if the server does not record.

    Raises:
        OSError: It is missing, or a link.
    """
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    return [os.open(config.record, flags)] if config.record else []


def pinned(config: ServerConfig, folder: Sequence[int]) -> ServerConfig:
    """Returns settings with which a process that has the folder open records into it, wherever it is moved."""
    return replace(config, record=f"/proc/self/fd/{folder[0]}") if folder else config
