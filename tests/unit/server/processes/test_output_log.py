"""The output of environments reaches the operator's log, in lines, up to a limit."""

from __future__ import annotations

import logging

import pytest

from envwire.server._processes.endpoints import LINES_PER_SECOND, OutputLog


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(caplog: pytest.LogCaptureFixture) -> Clock:
    caplog.set_level(logging.INFO, "envwire.server.output")
    return Clock()


def log(clock: Clock) -> OutputLog:
    return OutputLog(lambda: ("session x (Lab-v0 for me)", {}), clock)


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The log lines of environments; threads of other tests may log as well."""
    return [text for name, _, text in caplog.record_tuples if name == "envwire.server.output"]


def test_chunks_become_lines(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    output = log(clock)
    output.write(b"one\ntw")
    output.write(b"o\nthree")
    prefix = "session x (Lab-v0 for me): "
    assert lines(caplog) == [prefix + "one", prefix + "two"]
    output.close()
    assert lines(caplog)[-1] == prefix + "three"


def test_indented_lines_of_a_traceback_have_no_label(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    log(clock).write(b"Traceback:\n  File x\n    y()\nValueError\n")
    prefix = "session x (Lab-v0 for me): "
    assert lines(caplog) == [
        prefix + "Traceback:",
        "      File x",
        "        y()",
        prefix + "ValueError",
    ]


@pytest.mark.parametrize(("more", "told"), [(1, "1 more line"), (7, "7 more lines")])
def test_a_flood_is_counted(
    more: int, told: str, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    output = log(clock)
    output.write(b"again\n" * (LINES_PER_SECOND + more))
    assert len(lines(caplog)) == LINES_PER_SECOND
    clock.now += 1
    output.write(b"later\n")
    assert lines(caplog)[-2].endswith(f"... {told}")
    assert lines(caplog)[-1].endswith("later")


def test_a_line_without_an_end_is_bounded(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    output = log(clock)
    for _ in range(100):
        output.write(b"x" * 1000)
    output.close()
    (message,) = lines(caplog)
    assert len(message) < 2100
