"""Servers and commands of the tests, forked from a process that has imported their programs: a start costs a fourth.

A new interpreter takes half a second of processor time to import the program of a server, and as long for that of its
fork server, two hundred times in a run. So each process of tests starts one more, the origin, which imports both
programs and forks for each server: with the streams, the environment variables and the working directory that a new
interpreter would have got from the test. The server's process forks once more, before it does anything else: for its
first fork server. Another origin has imported the command line, and forks for each command. Nothing that an origin
imports starts threads or gRPC. What a process does once its program is imported is the same.

A fork server is a new interpreter where that matters: when it is not the server's first, for another interpreter,
and when a test changed environment variables. So is a server in another network namespace. Programs of tests start
servers in new interpreters.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import IO, Any, Generic, NoReturn, TypeVar

_PACKET_BYTES = 1 << 18
_STREAMS = 3
_END_SECONDS = 60.0
#: Servers that a whole run shares: they stop before the origin ends.
LASTING = contextlib.ExitStack()
#: Variables that differ although no test changed them.
_PASSING = {"PYTEST_CURRENT_TEST"}

Text = TypeVar("Text", str, bytes)


class Forked(Generic[Text]):
    """What `subprocess.Popen` is for a new interpreter, as far as servers use it.

    Args:
        pid: Id of the process.
        status: Waits for its exit status up to so many seconds, if a number is given, and returns it.
        stdin: Its standard input, and so on, unless the test gave it another file.
    """

    def __init__(
        self,
        pid: int,
        status: Callable[[float | None], int | None],
        stdin: IO[Text] | None = None,
        stdout: IO[Text] | None = None,
        stderr: IO[Text] | None = None,
    ) -> None:
        self.pid = pid
        self.stdin, self.stdout, self.stderr = stdin, stdout, stderr
        self.returncode: int | None = None
        self._status = status
        self._process = os.pidfd_open(pid)

    def poll(self) -> int | None:
        """Returns the exit status; None while the process runs."""
        if self.returncode is None:
            self.returncode = self._status(0.0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Waits for the exit status."""
        if self.returncode is None:
            self.returncode = self._status(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired("a forked process", timeout or 0.0)
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

    def communicate(self, timeout: float | None = None) -> tuple[Text | None, Text | None]:
        """Waits for its end, and returns what it wrote to standard output and error."""
        with ThreadPoolExecutor() as reading:
            streams = [
                stream and reading.submit(stream.read) for stream in (self.stdout, self.stderr)
            ]
            self.wait(timeout)
        self._close()
        out, err = (stream and stream.result() for stream in streams)
        return out, err

    def __enter__(self) -> Forked[Text]:
        return self

    def __exit__(self, *failure: object) -> None:
        self._close()
        self.wait()

    def _close(self) -> None:
        for stream in filter(None, (self.stdin, self.stdout, self.stderr)):
            stream.close()

    def __del__(self) -> None:
        os.close(self._process)


def _fork(
    origin: socket.socket,
    arguments: Sequence[str],
    surroundings: dict[str, Any],
    streams: Sequence[int],
) -> tuple[int, Callable[[float | None], int | None]]:
    """Has an origin fork; returns the id of the process, and what waits for its exit status."""
    own, theirs = socket.socketpair()  # says the process id, and the exit status later
    request = json.dumps({**surroundings, "arguments": arguments}).encode()
    socket.send_fds(origin, [request], [*streams, theirs.fileno()])
    theirs.close()

    def status(seconds: float | None) -> int | None:
        if not _readable(own.fileno(), seconds):
            return None
        with own:
            return _number(own)

    return _number(own), status


def _forked_server(origin: socket.socket) -> Forked[str]:
    """Has the origin fork a server."""
    (read, stdin), (stdout, write) = os.pipe(), os.pipe()
    surroundings = {"env": dict(os.environ), "cwd": os.getcwd()}
    pid, status = _fork(origin, [], surroundings, [read, write, 2])
    _close(read, write)
    return Forked(pid, status, os.fdopen(stdin, "w"), os.fdopen(stdout))


class Commands:
    """Starts commands, as `subprocess.Popen` does with text."""

    #: Returns the connection to the process that has imported the command line.
    origin: Callable[[], socket.socket]

    def start(
        self,
        *arguments: str,
        env: Mapping[str, str] | None = None,
        cwd: Path | str | None = None,
        stdin: int = subprocess.DEVNULL,
        stdout: int = subprocess.PIPE,
        stderr: int = 2,
    ) -> Forked[str]:
        """Starts a command; streams are descriptors, or what `subprocess` calls them."""
        variables = os.environ if env is None else env
        surroundings = {"env": dict(variables), "cwd": str(cwd or os.getcwd())}
        with contextlib.ExitStack() as theirs:
            given, ours = [], []
            for stream, mode in ((stdin, "w"), (stdout, "r"), (stderr, "r")):
                mine, other = None, stream
                if stream == subprocess.PIPE:
                    read, write = os.pipe()
                    mine, other = (write, read) if mode == "w" else (read, write)
                    theirs.callback(os.close, other)
                elif stream == subprocess.DEVNULL:
                    theirs.callback(os.close, other := os.open(os.devnull, os.O_RDWR))
                given.append(other)
                ours.append(None if mine is None else os.fdopen(mine, mode))
            return Forked(*_fork(self.origin(), arguments, surroundings, given), *ours)


COMMANDS = Commands()


def _number(connection: socket.socket) -> int:
    data = connection.recv(4, socket.MSG_WAITALL)
    if len(data) < 4:
        raise RuntimeError("the process that forks the tests' servers is gone; its output says why")
    return int.from_bytes(data, "little", signed=True)


def _readable(descriptor: int, seconds: float | None) -> bool:
    return bool(select.select([descriptor], [], [], seconds)[0])


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


@contextlib.contextmanager
def forked_servers() -> Iterator[None]:
    """Lets `Server` fork its processes, from an origin that starts with the first and ends here.

    Raises:
        AssertionError: A test did not stop its server.
    """
    import pytest  # not in the origin

    from envwire.server import server as servers

    new_process, network = servers._new_process, _network()
    variables = dict(os.environ)  # before tests change them
    started: list[tuple[str, Forked[str]]] = []
    with pytest.MonkeyPatch.context() as patch, contextlib.ExitStack() as stack:
        origin = cache(lambda: stack.enter_context(_origin(variables, "server")))
        COMMANDS.origin = cache(lambda: stack.enter_context(_origin(variables, "command")))

        def fork() -> Any:
            if (
                _network() != network
            ):  # the thread of a test is in another one, which the origin is not
                return new_process()
            server = _forked_server(origin())
            started.append((os.environ.get("PYTEST_CURRENT_TEST", ""), server))
            return server

        patch.setattr(servers, "_new_process", fork)
        with LASTING:
            yield
        left = [test for test, server in started if server.poll() is None]
        assert not left, f"servers that are not stopped, of {left}"


def _network() -> str:
    """Returns the network namespace of this thread."""
    return os.readlink("/proc/thread-self/ns/net")


@contextlib.contextmanager
def _origin(variables: dict[str, str], program: str) -> Iterator[socket.socket]:
    own, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.forked_servers", str(theirs.fileno()), program],
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


def _server(arguments: list[str]) -> int:
    """The program of a server."""
    from envwire.server import _server_process

    sys.argv = [_server_process.__name__]
    return _server_process.main()


def _command(arguments: list[str]) -> int:
    """The command line."""
    from envwire.server.cli import main

    sys.argv = ["envwire", *arguments]
    main()
    return 0


def _import_server() -> None:
    from envwire.server import _server_process
    from envwire.server._hosting.libraries import load_libraries
    from envwire.server._worker import main  # of the fork servers

    del main, _server_process
    load_libraries(())  # sets variables, too


def _import_commands() -> None:
    _import_server()
    from envwire.client import RemoteEnv
    from envwire.server.cli._app import app

    del RemoteEnv, app


_PROGRAMS = {"server": (_import_server, _server), "command": (_import_commands, _command)}


def _serve(tests: socket.socket, program: str) -> int:
    """Forks for each request, until the tests have ended; returns its exit status in the process of a program."""
    load, run = _PROGRAMS[program]
    variables = dict(os.environ)
    load()
    by_imports = {name: os.environ[name] for name in os.environ.keys() - variables}
    gc.collect()
    gc.freeze()
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
                asked = json.loads(request)
                _become(asked, descriptors[:_STREAMS])
                if program == "server" or "serve" in asked["arguments"]:
                    _prepare_forkserver(variables, by_imports)
                return run(asked["arguments"])
            *streams, told = descriptors
            _close(*streams)
            _tell(told, pid)
            process = os.pidfd_open(pid)
            running[process] = pid, told
            poll.register(process, select.POLLIN)


def _tell_the_end(process: int, pid: int, told: int) -> None:
    _, status = os.waitpid(pid, 0)
    _tell(told, os.waitstatus_to_exitcode(status))
    _close(process, told)


def _tell(told: int, number: int) -> None:
    with contextlib.suppress(BrokenPipeError):  # the tests no longer want to know
        os.write(told, number.to_bytes(4, "little", signed=True))


def _become(surroundings: dict[str, Any], streams: Sequence[int], kept: int = _STREAMS) -> None:
    """Becomes a process as new as an interpreter that has just imported its program; keeps one more descriptor."""
    os.setsid()
    for number, (name, mode) in enumerate({"stdin": "r", "stdout": "w", "stderr": "w"}.items()):
        os.dup2(streams[number], number)
        setattr(sys, name, os.fdopen(number, mode, closefd=False))  # the origin's may be a file
    os.closerange(_STREAMS, kept)
    os.closerange(kept + 1, os.sysconf("SC_OPEN_MAX"))
    os.environ.clear()
    os.environ.update(surroundings["env"])
    os.chdir(surroundings["cwd"])
    sys.path[0] = surroundings["cwd"]


def _prepare_forkserver(variables: dict[str, str], by_imports: dict[str, str]) -> None:
    """Forks, in a server's process, the one that becomes its first fork server.

    Args:
        variables: The environment variables that the origin was started with.
        by_imports: Those that its imports have set.
    """
    from envwire.server._processes import forkserver_start

    own, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    pid = os.fork()
    if pid == 0:
        own.close()
        _become_forkserver(theirs, by_imports)
    theirs.close()
    new_process = forkserver_start._new_process

    def first(command: list[str], given: dict[str, str], control: int, output: int) -> Any:
        forkserver_start._new_process = new_process
        with own:
            like_ours = command[:-1] == [sys.executable, "-m", forkserver_start.PROGRAM]
            if like_ours and _lasting(given) == _lasting(variables):
                (read, stdin), (stdout, write) = os.pipe(), os.pipe()
                socket.send_fds(own, [json.dumps(given).encode()], [read, write, output, control])
                _close(read, write)
                return _child(pid, os.fdopen(stdin, "wb"), os.fdopen(stdout, "rb"))
        os.waitpid(pid, 0)
        return new_process(command, given, control, output)

    forkserver_start._new_process = first


def _lasting(variables: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in variables.items() if name not in _PASSING}


def _child(pid: int, stdin: IO[bytes], stdout: IO[bytes]) -> Forked[bytes]:
    """Returns a process that this one has forked."""

    def status(seconds: float | None) -> int | None:
        if not _readable(process, seconds):
            return None
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    forked = Forked(pid, status, stdin, stdout)
    process = forked._process
    return forked


def _become_forkserver(server: socket.socket, by_imports: dict[str, str]) -> NoReturn:
    """Waits until the server starts its fork server, and becomes it; ends with a server that starts none."""
    from envwire.server._processes.forkserver_start import PROGRAM
    from envwire.server._worker import main as worker

    given, descriptors, _, _ = socket.recv_fds(server, _PACKET_BYTES, _STREAMS + 1)
    if not given:
        os._exit(0)
    *streams, control = descriptors
    env = {**by_imports, **json.loads(given)}
    _become({"env": env, "cwd": os.getcwd()}, streams, control)
    sys.argv = [worker.__file__, str(control)]
    sys.orig_argv = [sys.executable, "-m", PROGRAM, str(control)]
    sys.exit(worker.main())


if __name__ == "__main__":
    sys.exit(_serve(socket.socket(fileno=int(sys.argv[1])), sys.argv[2]))
