"""Creates the files of recordings, so that session processes, which write them, need no right to the folder."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import AsyncGenerator
from functools import partial

from envwire.server._front.sessions.record import SessionRecord
from envwire.server._recording.files import create_file, file_name, new_name
from envwire.server._recording.folder import DiskCalls, entered, open_folder
from envwire.server.config import ServerConfig

_log = logging.getLogger("envwire.server")
#: Less than clients wait for a Make.
_SECONDS = 5.0


class Recordings:
    """The recordings of a server's sessions.

    Args:
        config: The server's settings.

    Raises:
        OSError: The folder is missing, or a link.
    """

    def __init__(self, config: ServerConfig) -> None:
        self._folder = open_folder(config)
        self._disk = DiskCalls(_SECONDS)

    @contextlib.asynccontextmanager
    async def recorded(self, session: SessionRecord) -> AsyncGenerator[None]:
        """Context in which a session is made; it has got the file of its recording, if the server records.

        The file is hidden until the context ends, and then removed if the process has not begun the recording. A disk
        that hangs delays this session alone, which is then not recorded.
        """
        if not self._folder:
            yield
            return
        name, (folder,) = new_name(session.env_id), self._folder
        hidden = f".{file_name(name)}"
        create = partial(_create, folder, hidden)
        try:
            self._disk.check()
            file = await self._disk.call(create, partial(_discard, folder, hidden))
        except OSError as error:  # such as a full disk
            _log.warning("%s is not recorded: %s", session.label, error)
            session.record("", [])
            yield
            return
        try:
            session.record(name, [file])
            os.close(file)
            yield
        finally:
            finish = partial(_finish, folder, hidden, file_name(name), session.recorded)
            with contextlib.suppress(TimeoutError):  # it is done once the disk goes on
                await self._disk.call(finish, lambda _: None)

    def close(self) -> None:
        """Closes the folder. Closing it twice is harmless."""
        while self._folder:
            os.close(self._folder.pop())


def _create(folder: int, name: str) -> int:
    return entered(folder, partial(create_file, folder, name))


def _finish(folder: int, hidden: str, name: str, begun: bool) -> None:
    """Shows the file of a recording that was begun; removes any other."""
    with contextlib.suppress(OSError):
        if begun:
            entered(folder, partial(os.rename, hidden, name, src_dir_fd=folder, dst_dir_fd=folder))
        else:
            entered(folder, partial(os.unlink, hidden, dir_fd=folder))


def _discard(folder: int, hidden: str, file: int) -> None:
    """Removes a file that was created after nobody waited for it any more."""
    os.close(file)
    _finish(folder, hidden, "", begun=False)
