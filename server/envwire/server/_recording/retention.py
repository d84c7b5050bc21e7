"""Deletes recordings that are too old or too many, except those that are being written."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import logging
import os
import time
from collections.abc import AsyncGenerator
from functools import partial
from pathlib import Path

from envwire.server._recording.disk_calls import in_thread
from envwire.server._recording.files import SUFFIX
from envwire.server._recording.folder import open_folder, pinned
from envwire.server.config import ServerConfig

_log = logging.getLogger("envwire.server")
_SECONDS = 10.0


def prune(config: ServerConfig, now: float) -> list[Path]:
    """Deletes finished recordings that are too old, then the oldest until the rest fits into the size limit.

    Args:
        config: The server's settings.
        now: The time, in seconds since 1970.

    Returns:
        The deleted files.
    """
    kept = sorted(_recordings(Path(config.record)))
    total = sum(size for _, size, _ in kept)
    deleted: list[Path] = []
    for written, size, path in kept:  # the oldest first
        old = config.record_max_age and now - written > config.record_max_age
        large = config.record_max_bytes and total > config.record_max_bytes
        if (old or large) and _delete(path):
            total -= size
            deleted.append(path)
    return deleted


def _recordings(directory: Path) -> list[tuple[float, int, Path]]:
    """Returns the time of the last entry, the size and the path of each recording in a directory.

    Servers that share it may delete files at the same time.
    """
    found: list[tuple[float, int, Path]] = []
    for entry in os.scandir(directory):
        with contextlib.suppress(FileNotFoundError):
            if entry.name.endswith(SUFFIX) and entry.is_file(follow_symlinks=False):
                status = entry.stat(follow_symlinks=False)
                found.append((status.st_mtime, status.st_size, Path(entry.path)))
    return found


def _delete(path: Path) -> bool:
    """Deletes a recording unless it is being written; returns whether it was deleted."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink()
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


@contextlib.asynccontextmanager
async def retained(config: ServerConfig) -> AsyncGenerator[None]:
    """Context in which a server's recordings are kept within their limits; does nothing if it records none."""
    folder = open_folder(config)
    pruning = [asyncio.ensure_future(_prune_forever(pinned(config, folder))) for _ in folder]
    try:
        yield
    finally:
        for task in pruning:
            task.cancel()
        for descriptor in folder:
            os.close(descriptor)


async def _prune_forever(config: ServerConfig) -> None:
    told = ""
    while True:
        try:
            for path in await in_thread(partial(prune, config, time.time())):
                _log.info(
                    "recording %s deleted: see --record-max-bytes, --record-max-age", path.name
                )
        except OSError as error:
            if told != str(error):  # log it once
                _log.warning("recordings in %s are not looked after: %s", config.record, error)
            told = str(error)
        await asyncio.sleep(_SECONDS)
