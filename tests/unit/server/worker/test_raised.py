"""Tracebacks for the operator: the first of a second, and how many there were besides."""

from __future__ import annotations

import pytest

from envwire.codec import FaultError, Reason
from envwire.server._worker.session_making import RaisedLog


def test_a_loop_of_errors_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    now = [10.0]
    log = RaisedLog(lambda: now[0])
    fault = FaultError(Reason.ENVIRONMENT_RAISED, "x", traceback=["Traceback", "ValueError: x"])
    for _ in range(4):
        log.note(fault)
    now[0] += 1
    log.note(fault)
    printed = capsys.readouterr().err
    assert printed.count("ValueError: x") == 2
    assert "(3 more since the last one)" in printed
