"""Runs tests in several processes that are forked from one, which has collected them: `--at-once`.

Collecting takes as long as a thousand tests, so each process of its own would cost as much again. A process asks for
the tests of one more file when it begins the last test that it has: fixtures of a file are set up once. Tests that are
marked `serial` run when all others have ended.
"""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import os
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import pytest

_FORKS = multiprocessing.get_context("fork")
_END_SECONDS = 60.0

Files = list[list[int]]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the option."""
    parser.addoption(
        "--at-once", metavar="N", help="number of tests at once; auto: two for each processor"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Runs the tests in as many processes as asked for."""
    asked = session.config.getoption("--at-once")
    if asked is None or session.testsfailed or session.config.option.collectonly:
        return None
    terminal = session.config.pluginmanager.getplugin("terminalreporter")
    terminal.showfspath = False  # several files at once
    _run(
        session,
        _files(session, serial=False),
        2 * (os.cpu_count() or 1) if asked == "auto" else int(asked),
    )
    _run(session, _files(session, serial=True), 1)
    if session.shouldfail:
        raise session.Failed(session.shouldfail)
    if session.shouldstop:
        raise session.Interrupted(session.shouldstop)
    return True


def _files(session: pytest.Session, serial: bool) -> Files:
    """Returns the numbers of each file's tests, the next file last: no long one is left for the end."""
    chosen = (
        number
        for number, item in enumerate(session.items)
        if (item.get_closest_marker("serial") is not None) is serial
    )
    by_file = itertools.groupby(chosen, lambda number: session.items[number].path)
    files = [[*numbers] for _, numbers in by_file]
    return sorted(files, key=lambda file: _weight(session.items[file[0]].path, len(file)))


def _weight(path: Path, tests: int) -> tuple[bool, int]:
    """Tests of what runs in one process are short; of the others, files with many take long."""
    return "unit" not in path.parts, tests


class _Worker:
    """A process, and the numbers of tests that it has not ended yet.

    Args:
        session: The tests.
        others: Workers whose connections the process must not keep.
    """

    def __init__(self, session: pytest.Session, others: list[_Worker]) -> None:
        self.left: list[int] = []
        self.connection, theirs = _FORKS.Pipe()
        ours = [self.connection, *(other.connection for other in others)]
        self._process = _FORKS.Process(target=_work, args=(session, theirs, ours))
        self._process.start()
        theirs.close()

    def end(self) -> int:
        """Waits for the end of the process, which hears that its connection is closed; returns its exit status."""
        self.connection.close()
        self._process.join(_END_SECONDS)
        self._process.kill()
        self._process.join()
        assert self._process.exitcode is not None
        return self._process.exitcode


def _run(session: pytest.Session, files: Files, count: int) -> None:
    """Hands out files to processes, and reports what these say of their tests."""
    with contextlib.ExitStack() as stack:
        workers: list[_Worker] = []

        def start() -> None:
            workers.append(worker := _Worker(session, workers))
            stack.callback(worker.end)

        for _ in range(min(count, len(files))):
            start()
        while workers:
            ready = wait([worker.connection for worker in workers])
            for worker in [each for each in workers if each.connection in ready]:
                try:
                    _answer(session, worker, files)
                except (EOFError, ConnectionResetError):
                    workers.remove(worker)
                    if (status := worker.end()) and worker.left:
                        _report_crash(session, worker.left.pop(0), status)
                        files.append(worker.left)
                        start()


def _answer(session: pytest.Session, worker: _Worker, files: Files) -> None:
    hook, said = session.config.hook, worker.connection.recv()
    match said:
        case None:  # it has begun its last test
            stop = session.shouldfail or session.shouldstop
            worker.left += (given := [] if stop or not files else files.pop())
            worker.connection.send(given)
        case "pytest_runtest_logreport", {"data": data}:
            report = hook.pytest_report_from_serializable(config=session.config, data=data)
            hook.pytest_runtest_logreport(report=report)
        case name, arguments:
            getattr(hook, name)(**arguments)
            if name == "pytest_runtest_logfinish":
                worker.left.pop(0)


def _report_crash(session: pytest.Session, number: int, status: int) -> None:
    item = session.items[number]
    said = f"the process of this test ended with {status}"
    crash = pytest.TestReport(item.nodeid, item.location, {}, "failed", said, "call")
    session.config.hook.pytest_runtest_logreport(report=crash)


def _work(session: pytest.Session, connection: Connection[Any, Any], others: list[Any]) -> None:
    """Runs tests in a process of its own."""
    for other in others:
        other.close()
    manager, hook = session.config.pluginmanager, session.config.hook
    # The first process tells the user.
    session.config.get_terminal_writer()._file = open(os.devnull, "w")  # noqa: SIM115 - to the end
    capture = manager.getplugin("capturemanager")
    capture.stop_global_capturing()  # files that all processes share
    capture.start_global_capturing()
    manager.register(_Teller(session.config, connection.send))
    numbers = _asked_for(connection)
    following = next(numbers, None)
    while following is not None and not (session.shouldfail or session.shouldstop):
        item, following = session.items[following], next(numbers, None)
        then = None if following is None else session.items[following]
        hook.pytest_runtest_protocol(item=item, nextitem=then)
    session._setupstate.teardown_exact(None)  # what is left if it was stopped
    os._exit(0)  # what the first process made before is for that one to remove


def _asked_for(connection: Connection[Any, Any]) -> Iterator[int]:
    while True:
        connection.send(None)
        try:
            given = connection.recv()
        except EOFError:  # nobody is there to be told
            return
        if not given:
            return
        yield from given


class _Teller:
    """The hooks of a process that say how its tests go."""

    def __init__(self, config: pytest.Config, tell: Callable[[Any], None]) -> None:
        self._config = config
        self._tell = tell

    def pytest_runtest_logstart(self, nodeid: str, location: tuple[str, int | None, str]) -> None:
        self._tell(("pytest_runtest_logstart", {"nodeid": nodeid, "location": location}))

    def pytest_runtest_logfinish(self, nodeid: str, location: tuple[str, int | None, str]) -> None:
        self._tell(("pytest_runtest_logfinish", {"nodeid": nodeid, "location": location}))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._tell(("pytest_runtest_logreport", {"data": data}))
