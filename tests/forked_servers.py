"""Servers of the tests, forked from a process that has imported their program: a start costs half as much.

A new interpreter takes half a second of processor time to import the program of a server, two hundred times in a run.
So each process of tests starts one more, the origin, which imports the program and forks for each server: with the
streams, the environment variables and the working directory that a new interpreter would have got from the test.
Nothing that it imports starts threads or gRPC. What a server does once its program is imported is the same, and it
starts its fork server, as ever, in a new interpreter. Programs and commands of tests start servers in new interpreters.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import IO, Any

_PACKET_BYTES = 1 << 18
_STREAMS = 3
_END_SECONDS = 60.0


class ForkedServer:
    """What `subprocess.Popen` is for a new interpreter, as far as `Server` uses it.

    Args:
        origin: Connection to the process that forks.
    """

    def __init__(self, origin: socket.socket) -> None:
        own, theirs = socket.socketpair()
        read, stdin = os.pipe()
        stdout, write = os.pipe()
        given = [read, write, 2, theirs.fileno()]
        surroundings = {"env": dict(os.environ), "cwd": os.getcwd()}
        socket.send_fds(origin, [json.dumps(surroundings).encode()], given)
        for descriptor in (read, write):
            os.close(descriptor)
        theirs.close()
        self._exit = own  # says the process id, and the exit status later
        self.stdin: IO[str] = os.fdopen(stdin, "w")
        self.stdout: IO[str] = os.fdopen(stdout)
        self.pid = int.from_bytes(_exactly(own, 4), "little", signed=True)
        self._process = os.pidfd_open(self.pid)
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Returns the exit status; None while the process runs."""
        return self._status(0.0)

    def wait(self, timeout: float | None = None) -> int:
        """Waits for the exit status."""
        status = self._status(timeout)
        if status is None:
            raise subprocess.TimeoutExpired("a forked server", timeout or 0.0)
        return status

    def _status(self, timeout: float | None) -> int | None:
        if self.returncode is None and select.select([self._exit], [], [], timeout)[0]:
            self.returncode = int.from_bytes(_exactly(self._exit, 4), "little", signed=True)
            self._exit.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Sends a signal; a process that has ended gets none."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._process, number)

    def terminate(self) -> None:
        """Asks it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Kills it."""
        self.send_signal(signal.SIGKILL)

    def __del__(self) -> None:
        os.close(self._process)


def _exactly(connection: socket.socket, count: int) -> bytes:
    data = connection.recv(count, socket.MSG_WAITALL)
    if len(data) < count:
        raise RuntimeError("the process that forks the tests' servers is gone; its output says why")
    return data


@contextlib.contextmanager
def forked_servers() -> Iterator[None]:
    """Lets `Server` fork its processes, from an origin that starts with the first and ends here."""
    import pytest  # not in the origin

    variables = dict(os.environ)  # before tests change them
    with pytest.MonkeyPatch.context() as patch, contextlib.ExitStack() as stack:
        origin = cache(lambda: stack.enter_context(_origin(variables)))
        patch.setattr("envwire.server.server._new_process", lambda: ForkedServer(origin()))
        yield


@contextlib.contextmanager
def _origin(variables: dict[str, str]) -> Iterator[socket.socket]:
    own, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.forked_servers", str(theirs.fileno())],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        pass_fds=[theirs.fileno()],
        cwd=Path(__file__).parents[1],
        env=variables,
        start_new_session=True,
    )
    theirs.close()
    with own:
        yield own
        own.shutdown(socket.SHUT_RDWR)  # also of copies in programs that tests forked
    process.wait(_END_SECONDS)


def _serve(tests: socket.socket) -> int:
    """Forks a server for each request, until the tests have ended; returns its exit status in a server's process."""
    from envwire.server import _server_process  # only the origin runs servers

    poll = select.poll()
    poll.register(tests, select.POLLIN)
    running: dict[int, tuple[int, int]] = {}
    while True:
        for ready, _ in poll.poll():
            if ready in running:
                poll.unregister(ready)
                _tell_the_end(ready, *running.pop(ready))
                continue
            request, descriptors, _, _ = socket.recv_fds(tests, _PACKET_BYTES, _STREAMS + 1)
            if not request:
                return 0
            pid = os.fork()
            if pid == 0:
                tests.detach()
                _become_server(json.loads(request), descriptors[:_STREAMS])
                return _server_process.main()
            *streams, told = descriptors
            for descriptor in streams:
                os.close(descriptor)
            _tell(told, pid)
            process = os.pidfd_open(pid)
            running[process] = pid, told
            poll.register(process, select.POLLIN)


def _tell_the_end(process: int, pid: int, told: int) -> None:
    _, status = os.waitpid(pid, 0)
    _tell(told, os.waitstatus_to_exitcode(status))
    for descriptor in (process, told):
        os.close(descriptor)


def _tell(told: int, number: int) -> None:
    with contextlib.suppress(BrokenPipeError):  # the tests no longer want to know
        os.write(told, number.to_bytes(4, "little", signed=True))


def _become_server(surroundings: dict[str, Any], streams: list[int]) -> None:
    os.setsid()
    for number, (name, mode) in enumerate({"stdin": "r", "stdout": "w", "stderr": "w"}.items()):
        os.dup2(streams[number], number)
        setattr(sys, name, os.fdopen(number, mode, closefd=False))  # the origin's may be a file
    os.closerange(_STREAMS, os.sysconf("SC_OPEN_MAX"))
    os.environ.clear()
    os.environ.update(surroundings["env"])
    os.chdir(surroundings["cwd"])
    sys.path[0] = surroundings["cwd"]
    sys.argv = ["envwire.server._server_process"]


if __name__ == "__main__":
    sys.exit(_serve(socket.socket(fileno=int(sys.argv[1]))))
