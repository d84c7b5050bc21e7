"""The processor time of a shared process is counted for the sessions that end in it, each second once."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from types import SimpleNamespace
from typing import Any

import pytest

from envwire.server._front.sessions.life import LifeEvent
from envwire.server._front.sessions.record import SessionRecord
from envwire.server._front.sessions.session_totals import SessionTotals
from envwire.server._ipc.scoreboard import Counters
from envwire.server._processes.resources import ProcessorTime, usage_of


def record(process: Any) -> SessionRecord:
    return SessionRecord(
        lease=1.0,
        timeout=1.0,
        clock=time.monotonic,
        on_end=lambda *_: None,
        process=process,
        id="",
    )


def burn(seconds: float) -> None:
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass


@pytest.mark.parametrize("shared", [True, False])
def test_sessions_of_a_process_count_its_time_once(shared: bool) -> None:
    process: Any = SimpleNamespace(
        pid=os.getpid(),
        shared=shared,
        processor_time=ProcessorTime(os.getpid()),
        open=lambda _: SimpleNamespace(slot=0),
        end=lambda _: None,
        scoreboard=SimpleNamespace(counters=lambda _: Counters(*[0] * len(Counters._fields))),
    )

    async def end_two() -> SessionTotals:
        totals = SessionTotals()
        for _ in range(2):
            session = record(process)
            burn(0.05)
            session.end(LifeEvent.CLOSE)
            totals.add(session)
        return totals

    totals = asyncio.run(end_two())
    used = usage_of(os.getpid())
    assert used is not None
    assert totals.cpu >= 0.1
    assert totals.cpu + process.processor_time.left() == pytest.approx(used.cpu, abs=0.05)


def test_descendants_that_run_are_counted_and_time_outlives_its_process() -> None:
    work = "import time\nwhile time.process_time() < 0.2: pass\nprint('done', flush=True); input()"
    start = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {work!r}])"
    with subprocess.Popen(
        [sys.executable, "-c", start], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        processor_time = ProcessorTime(process.pid)
        before = processor_time.left()
        assert before >= 0.2
        process.communicate(b"\n")
    assert processor_time.take() >= before
    assert processor_time.left() == 0
