"""The session process: its connections to the front, and a loop that waits for frames and dispatches them.

Frames arrive on three kinds of sockets that are kept apart: the link, to which only the front writes; the control
socket, on which the front hands over direct channels and files of recordings, and requests copies of the process; and
the direct channels.
A process holds one session unless the operator lets sessions share processes.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from envwire.server._hosting.libraries import Catalogue
from envwire.server._ipc.frames import ADMIT, FORK, RECORDING, ChannelUse, FrameSocket
from envwire.server._ipc.message_slots import REPLIES, MessageSlots
from envwire.server._ipc.scoreboard import Scoreboard
from envwire.server._recording.files import AppendedFile
from envwire.server._worker.direct.service import DirectService
from envwire.server._worker.link_service import LinkService
from envwire.server._worker.poller import Poller
from envwire.server._worker.process_sessions import ProcessSessions, ServedSession
from envwire.server._worker.process_setup import (
    COPY_DESCRIPTORS,
    Copied,
    die_with,
    serve_fork,
    take_output,
)
from envwire.server._worker.session_making import ProcessSessionMaker
from envwire.server.config import ServerConfig


class WorkerEndpoints:
    """A session process's connections to the front.

    Args:
        link: Descriptor of the link's socket. This object owns all three descriptors.
        control_socket: Descriptor of the packet socket.
        scoreboard: Descriptor of the scoreboard's memory file.
        rows: How many sessions the process may hold.

    Attributes:
        link: Connected, blocking socket.
        frames: Sends and receives frames on the link.
        control_socket: Packet socket on which the front hands over direct channels.
        scoreboard: Shared memory that reports to the front what this process is doing.
    """

    def __init__(self, link: int, control_socket: int, scoreboard: int, rows: int) -> None:
        self.link = socket.socket(fileno=link)
        self.control_socket = socket.socket(fileno=control_socket)
        self.scoreboard = Scoreboard(scoreboard, rows)
        self._message_slots = MessageSlots(scoreboard, self.scoreboard, REPLIES)
        self.frames = FrameSocket(self.link, self._message_slots)

    def close(self) -> None:
        """Closes all of them."""
        self.link.close()
        self.control_socket.close()
        self._message_slots.close()
        self.scoreboard.close()


@dataclass
class Worker:
    """Serves the sessions of one process.

    Attributes:
        endpoints: Its connections to the front.
        catalogue: The environments that can be made.
        config: The server's settings.
        origin: The session that the process was forked with, if it is a copy.
    """

    endpoints: WorkerEndpoints
    catalogue: Catalogue
    config: ServerConfig
    origin: ServedSession | None = None

    def __post_init__(self) -> None:
        """Connects the services of the link, the control socket and the direct channels."""
        endpoints, config = self.endpoints, self.config
        self._sessions = ProcessSessions(packed=config.sessions_per_process > 1)
        self._poller = Poller()
        self._direct = DirectService(
            self._poller, self._sessions, endpoints.frames, self._serve_link, config
        )
        self._files: dict[int, AppendedFile | None] = {}
        maker = ProcessSessionMaker(
            self.catalogue,
            self._sessions,
            config,
            self.origin,
            endpoints.scoreboard,
            self._recording_file,
        )
        self._link = LinkService(
            endpoints.frames, self._sessions, maker, self._direct, config.max_message_bytes
        )

    def run(self) -> Worker | None:
        """Serves requests until the session closes or the front is gone.

        Returns:
            In a process that was forked for a copy of the session, the worker to run there; else None.
        """
        self._poller.watch(self.endpoints.link.fileno(), self._link.serve)
        self._poller.watch(self.endpoints.control_socket.fileno(), self._serve_ready_control)
        with self._sessions.warnings.installed():
            try:
                with contextlib.suppress(ConnectionError):  # the front is gone
                    while not self._sessions.over:
                        self._poller.serve()
            except Copied as copied:
                descriptors = copied.args
            else:
                for served in self._sessions.by_number.values():
                    self._sessions.end(served)
                self._direct.finish()
                return None
        return self._copy(*descriptors)

    def _serve_link(self) -> None:
        self._link.serve()

    def _serve_ready_control(self) -> None:
        """Handles a packet on the control socket, unless a Make that was ready with it has already read it."""
        try:  # `recv_fds` of Python ignores its flags
            self.endpoints.control_socket.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        self._serve_control()

    def _serve_control(self) -> None:
        """Waits for one packet on the control socket, and handles it.

        Raises:
            Copied: This process is the requested copy.
            ConnectionResetError: The front is gone.
        """
        control_socket = self.endpoints.control_socket
        size = RECORDING.size  # the longest
        packet, descriptors, _, _ = socket.recv_fds(control_socket, size, COPY_DESCRIPTORS)
        if not packet:
            raise ConnectionResetError("the front is gone")
        if packet == FORK and descriptors:
            serve_fork(descriptors, self._sessions.packed)
        elif len(packet) == size:
            number, name = RECORDING.unpack(packet)
            self._files[number] = self._handed(name.rstrip(b"\0").decode(), descriptors)
        elif descriptors:  # no descriptor: too many open files here; the client retries
            number, *use = ADMIT.unpack(packet)
            connection = socket.socket(fileno=descriptors[0])
            self._direct.admit(number, ChannelUse(*use), connection)

    def _handed(self, name: str, descriptors: Sequence[int]) -> AppendedFile | None:
        """Returns the file that the front handed over, if it could create one and this process could take it."""
        if not descriptors:
            if name:
                print(
                    "not recorded: too many files are open in the process of the environment",
                    file=sys.stderr,
                )
            return None
        os.set_inheritable(descriptors[0], False)  # programs that environments start do not get it
        return AppendedFile(name, descriptors[0], self.config.record_max_session_bytes)

    def _recording_file(self, number: int) -> AppendedFile | None:
        """Returns the file of a session's recording, which the front has handed over already."""
        while self.config.record and number not in self._files:
            self._serve_control()
        return self._files.pop(number, None)

    def _copy(
        self, link: int, output: int, control_socket: int, scoreboard: int, lifeline: int
    ) -> Worker:
        """Returns the worker for the copied session, in this process, which was forked for it."""
        (served,) = self._sessions.by_number.values()  # a shared process is not copied
        self._direct.close_all()
        self.endpoints.close()
        take_output(output)
        die_with(lifeline)
        served.session.copied()
        endpoints = WorkerEndpoints(link, control_socket, scoreboard, 1)
        return Worker(endpoints, self.catalogue, self.config, served)


def serve_session(worker: Worker) -> None:
    """Runs a worker and, in a process that was forked as a copy, the copy's worker.

    A copy returns from the original's `run` first, so that the stack does not grow with copies of copies.
    """
    serving: Worker | None = worker
    while serving is not None:
        serving = serving.run()
