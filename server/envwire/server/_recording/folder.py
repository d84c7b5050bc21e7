"""The folder of recordings, opened once, and the deletion of those that are too old or too many.

What is later put in the folder's place gets no recordings. A disk may hang, so it is called in threads that hold up
neither other work nor the end of the server. Recordings that are being written are not deleted.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import logging
import os
import tempfile
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

from envwire.server._recording.files import SUFFIX
from envwire.server.config import ServerConfig

T = TypeVar("T")

#: So many calls may hang before `check` fails, until one of these returns.
_MOST_LATE = 4


class DiskCalls:
    """Calls of one disk, each with a deadline.

    Args:
        seconds: How long a call may take.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._late: set[Future[Any]] = set()

    def check(self) -> None:
        """Checks whether the disk answers; called before new work begins, which bounds the threads that hang.

        Raises:
            TimeoutError: Several calls hang.
        """
        if len(self._late) >= _MOST_LATE:
            raise TimeoutError("the disk does not answer")

    async def call(self, act: Callable[[], T], undo: Callable[[T], object]) -> T:
        """Returns what `act` returns.

        Args:
            act: The call.
            undo: Called with the result, in the thread, if the call returns after it was given up.

        Raises:
            OSError: The disk refuses, or does not answer in time.
        """
        calling = _started(act)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(calling), self._seconds)
        except (asyncio.TimeoutError, asyncio.CancelledError) as error:
            self._late.add(calling)
            calling.add_done_callback(lambda _: self._returned(calling, undo))
            if isinstance(error, asyncio.CancelledError):
                raise
            raise TimeoutError(f"the disk does not answer within {self._seconds:g} s") from None

    def _returned(self, call: Future[T], undo: Callable[[T], object]) -> None:
        self._late.discard(call)
        if call.exception() is None:
            undo(call.result())


async def in_thread(act: Callable[[], T]) -> T:
    """Awaits a call in a thread of its own. The interpreter does not wait for that thread at its end."""
    return await asyncio.wrap_future(_started(act))


def _started(act: Callable[[], T]) -> Future[T]:
    outcome: Future[T] = Future()
    outcome.set_running_or_notify_cancel()  # who gives it up does not end it
    Thread(target=_run, args=(act, outcome), name="disk", daemon=True).start()
    return outcome


def _run(act: Callable[[], T], outcome: Future[T]) -> None:
    try:
        result = act()
    except BaseException as error:
        outcome.set_exception(error)
    else:
        outcome.set_result(result)


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
