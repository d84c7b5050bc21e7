"""The fork server: imports the environments once, then forks a process for each session.

It stays single-threaded and never runs an environment, so forking it is safe at any time; gRPC, which does not survive
a fork, is never loaded here. It is the parent of all session processes: it reaps them and tells the front how they
ended.

The front speaks to it over a socket of packets: `{"fork": N}` with four descriptors (link, output, control socket,
scoreboard) forks process N; it answers `{"forked": N, "pid": P}`, or `{"failed": N, "error": why}`, and when the time
comes `{"exited": P, "status": S}`. Before a session's process forks itself the front says `{"copying": 1}`, afterwards
`{"copying": -1}` and whom to adopt, `{"adopt": P}`. Children that are no sessions are what environments left behind:
they are killed. When the front is gone, so are the socket, all sessions, and this process as the last.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NoReturn

import numpy as np

from envwire.server._hosting.libraries import Catalogue
from envwire.server._ipc.bounds import PACKET_BYTES
from envwire.server._ipc.orphans import children, inherit_orphans, kill, mark_descendants
from envwire.server._worker.confining.confinement import confine
from envwire.server._worker.confining.control_groups import ControlGroups, enter
from envwire.server._worker.confining.rlimits import contain
from envwire.server._worker.endpoints import take_endpoints
from envwire.server._worker.exit import run_and_exit
from envwire.server._worker.process_setup import die_with, take_output
from envwire.server._worker.worker import Worker, serve_session
from envwire.server.config import ServerConfig

_DESCRIPTORS = 4
#: Time for killed processes to disappear. Only one that hangs inside the kernel takes longer.
_END_SECONDS = 3.0
_END_PAUSE_SECONDS = 0.01


class Forkserver:
    """Forks and reaps session processes.

    Args:
        control: Socket of packets to the front.
        lifeline: Descriptor that closes when the front is gone.
        catalogue: What sessions can make.
        config: The server's settings.
    """

    def __init__(
        self, control: socket.socket, lifeline: int, catalogue: Catalogue, config: ServerConfig
    ) -> None:
        self._control = control
        self._lifeline = lifeline
        self._catalogue = catalogue
        self._config = config
        self._sessions: set[int] = set()
        self._groups = ControlGroups(None)
        self._copying = 0

    def run(self) -> None:
        """Serves the front until it is gone, then ends what is left."""
        wakeup, woken = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, _ignore)  # the wake-up descriptor reports the signal
        signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
        inherit_orphans()
        mark_descendants()
        self._groups = ControlGroups.here()
        self._wakeup = (wakeup, woken)
        serving = True
        while serving:
            ready, _, _ = select.select([self._control.fileno(), wakeup], [], [])
            if wakeup in ready:
                os.read(wakeup, PACKET_BYTES)
                self._reap()
            if self._control.fileno() in ready:
                serving = self._serve_one()
            while serving and not self._kill_orphans():
                serving = self._serve_one()
        self._end_all()

    def _serve_one(self) -> bool:
        try:
            packet, descriptors, _, _ = socket.recv_fds(self._control, PACKET_BYTES, _DESCRIPTORS)
        except ConnectionResetError:
            return False
        if not packet:
            return False
        message = json.loads(packet)
        self._copying += message.get("copying", 0)
        if pid := message.get("adopt"):
            self._sessions.add(pid)
            self._groups.move(pid)
        if number := message.get("fork"):
            self._fork(number, descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        return True

    def _fork(self, number: int, descriptors: Sequence[int]) -> None:
        group = None
        try:
            group = self._groups.new()
            pid = os.fork()
        except OSError as error:  # out of processes, memory or groups, for the moment
            self._groups.discard(group)
            self._tell({"failed": number, "error": str(error)})
            return
        if pid == 0:
            self._become_session(group, *descriptors)
        self._groups.put(pid, group)
        self._sessions.add(pid)
        self._tell({"forked": number, "pid": pid})

    def _reap(self) -> None:
        while True:
            try:
                ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if ended is None:
                return
            # Until it is reaped its number is its own: whatever is left of its group goes now.
            kill([ended.si_pid])
            _, status = os.waitpid(ended.si_pid, 0)
            self._sessions.discard(ended.si_pid)
            self._groups.end(ended.si_pid)
            self._tell({"exited": ended.si_pid, "status": os.waitstatus_to_exitcode(status)})

    def _kill_orphans(self) -> bool:
        """Kills orphans that sessions left behind; returns False when packets of the front have to be read first.

        A copy that a session made of itself is an orphan as well. Before the front had it made, it said so: what is
        found here was announced in a packet that is read already, or that is there to be read.
        """
        orphans = children() - self._sessions
        if self._copying or not (orphans or self._groups.waiting):
            return True
        if select.select([self._control.fileno()], [], [], 0)[0]:
            return False
        self._groups.kill_ended()
        kill(orphans)  # their own children come next, when they are reaped
        return True

    def _end_all(self) -> None:
        """Kills all children, and those inherited from them, until there are none."""
        self._groups.kill_all()
        deadline = time.monotonic() + _END_SECONDS
        while (left := children()) and time.monotonic() < deadline:
            kill(left)
            self._reap()
            time.sleep(_END_PAUSE_SECONDS)
        self._groups.close(_END_SECONDS)

    def _tell(self, message: dict[str, int | str]) -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._control.send(json.dumps(message).encode())

    def _become_session(
        self, group: Path | None, link: int, output: int, control_socket: int, scoreboard: int
    ) -> NoReturn:
        enter(group)
        os.setpgid(0, 0)
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        self._control.close()
        for descriptor in self._wakeup:
            os.close(descriptor)
        take_output(output)
        inherit_orphans()
        die_with(self._lifeline)
        np.random.seed()
        contain(self._config)
        confine(self._config, group)
        endpoints = take_endpoints(
            link, control_socket, scoreboard, self._config.sessions_per_process
        )
        worker = Worker(endpoints, self._catalogue, self._config)
        run_and_exit(partial(serve_session, worker))


def _ignore(_number: int, _frame: object) -> None:
    """Does nothing: the signal only wakes the poll."""
