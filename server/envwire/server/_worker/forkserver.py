"""The fork server: imports the environments once, then forks a process for each session.

It never runs an environment and starts no threads, so forking it is safe at any time; gRPC, which does not survive a
fork, is never loaded here. If a module that it imported has started threads, it starts new interpreters instead. It is
the parent of all session processes, reaps them and reports their exit status to the front.

The front sends it packets: `{"fork": N}` with the descriptors of `SessionDescriptors` requests fork N. The answer is
`{"forked": N, "pid": P}` or `{"failed": N, "error": why}`, and later `{"exited": P, "status": S}`. Before a session
process forks itself the front sends `{"copying": 1}`, afterwards `{"copying": -1}` and `{"adopt": P}` for the copy.
`{"check": P}` asks whether process P is confined as the next one would be: `{"checked": P, "current": true}`.
Other children are processes that environments left behind, and are killed. When the front is gone, the socket closes,
all sessions end, and this process exits last.
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
from typing import NoReturn

from envwire.server._hosting.libraries import Catalogue
from envwire.server._ipc.frames import PACKET_BYTES
from envwire.server._ipc.orphans import children, inherit_orphans, kill, mark_descendants, reap
from envwire.server._worker.confining.confinement import Confinement
from envwire.server._worker.confining.control_groups import ControlGroups
from envwire.server._worker.session_start import SessionDescriptors, become_session, confine
from envwire.server._worker.threads import NewInterpreters, count_threads
from envwire.server.config import ServerConfig

_DESCRIPTORS = len(SessionDescriptors._fields)
#: Seconds for killed processes to disappear. Only a process that hangs inside the kernel takes longer.
_END_SECONDS = 3.0
_END_PAUSE_SECONDS = 0.01


class Forkserver:
    """Forks and reaps session processes.

    Args:
        control: Packet socket to the front.
        catalogue: The environments that sessions can make.
        config: The server's settings.
        interpreters: Starts session processes that are not forked.
        groups: The control groups of the sessions.
    """

    def __init__(
        self,
        control: socket.socket,
        catalogue: Catalogue,
        config: ServerConfig,
        interpreters: NewInterpreters,
        groups: ControlGroups,
    ) -> None:
        self._control = control
        self._catalogue = catalogue
        self._config = config
        self._interpreters = interpreters
        #: The session processes, with the number of the rules that confine each; 0 for a copy's, which are inherited.
        self._sessions: dict[int, int] = {}
        self._groups = groups
        self._confinement = Confinement(config)
        self._copying = 0

    def run(self) -> None:
        """Serves the front until it is gone, then kills all remaining processes."""
        wakeup, woken = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, _ignore)  # reported by the wake-up descriptor
        signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
        inherit_orphans()
        mark_descendants()
        self._wakeup = (wakeup, woken)
        self._prepare()
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
            self._sessions[pid] = 0
            self._groups.move(pid)
        if pid := message.get("check"):
            self._check(pid)
        if number := message.get("fork"):
            self._fork(number, descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        return True

    def _prepare(self) -> None:
        """Does what the next session process needs and takes long, before it is asked for."""
        with contextlib.suppress(OSError):  # the next fork fails then, if it still does
            self._groups.enter_next()
            self._confinement.prepare()

    def _fork(self, number: int, descriptors: Sequence[int]) -> None:
        try:
            self._groups.enter_next()
            pid = self._start(descriptors)
        except OSError as error:  # temporarily out of processes, memory or groups
            self._tell({"failed": number, "error": str(error)})
            return
        if pid == 0:
            self._become_session(descriptors)
        self._groups.put(pid)
        self._sessions[pid] = self._confinement.number
        self._tell({"forked": number, "pid": pid})
        self._prepare()

    def _check(self, pid: int) -> None:
        current = False
        with contextlib.suppress(OSError):
            self._confinement.prepare()
            current = self._sessions.get(pid) == self._confinement.number
        self._tell({"checked": pid, "current": current})

    def _reap(self) -> None:
        while reaped := reap(os.P_ALL, 0):
            pid, status = reaped
            self._sessions.pop(pid, None)
            self._groups.end(pid)
            self._tell({"exited": pid, "status": status})

    def _kill_orphans(self) -> bool:
        """Kills orphans that sessions left behind; returns False if packets from the front must be read first.

        A copy that a session made of itself looks like an orphan. The front announces each copy beforehand, so the
        announcement was either read already or is waiting to be read.
        """
        orphans = children() - self._sessions.keys()
        if self._copying or not (orphans or self._groups.waiting):
            return True
        if select.select([self._control.fileno()], [], [], 0)[0]:
            return False
        self._groups.kill_ended()
        kill(orphans)  # their children follow once these are reaped
        return True

    def _end_all(self) -> None:
        """Kills all children, including inherited ones, until none are left."""
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

    def _start(self, descriptors: Sequence[int]) -> int:
        """Starts a process and returns its pid; 0 in a process that was forked."""
        self._confinement.prepare()
        start = self._config.start
        if start == "fork" or (start == "auto" and count_threads() == 1):
            return os.fork()
        return self._interpreters.start(descriptors, partial(confine, self._confinement))

    def _become_session(self, descriptors: Sequence[int]) -> NoReturn:
        signal.set_wakeup_fd(-1)
        self._control.close()
        for descriptor in self._wakeup:
            os.close(descriptor)
        confine(self._confinement)
        become_session(self._config, SessionDescriptors(*descriptors), lambda: self._catalogue)


def _ignore(_number: int, _frame: object) -> None:
    """Does nothing; the signal only wakes the poll."""
