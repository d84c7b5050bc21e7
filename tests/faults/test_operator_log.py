"""The log of `envwire serve` about environments: their output, their ends, and why they are not made."""

from __future__ import annotations

import contextlib
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from envwire.client import RemoteEnv, SessionLostError
from tests.commands import start
from tests.hosted_envs import Fault

ROOT = Path(__file__).parents[2]


@contextmanager
def served(log: IO[str]) -> Iterator[str]:
    command = ["serve", "tests/Faulty-v0", "--import", "tests.hosted_envs", "--port", "0"]
    process = start(*command, stderr=log.fileno(), cwd=ROOT)
    assert process.stdout
    try:
        yield process.stdout.readline().split()[1]
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The log after an environment printed and aborted, and another could not be made."""
    path = tmp_path_factory.mktemp("log") / "server.log"
    with path.open("w") as log, served(log) as target:
        env = RemoteEnv(target, "tests/Faulty-v0")
        env.reset()
        with pytest.raises(ValueError, match="the wheel fell off"):
            env.step(Fault.RAISE)
        with pytest.raises(SessionLostError):
            env.step(Fault.PRINT_AND_ABORT)
        with RemoteEnv(target, "tests/Faulty-v0") as other:
            other.reset()
            for _ in range(3):
                other.step(Fault.NONE)
        with contextlib.closing(env), pytest.raises(RuntimeError, match="no simulator here"):
            RemoteEnv(target, "tests/Faulty-v0", raise_on_make=True)
    return path.read_text()


def lines(text: str, *words: str) -> list[str]:
    return [line for line in text.splitlines() if all(word in line for word in words)]


def test_output_is_logged_with_its_session(text: str) -> None:
    assert lines(text, "tests/Faulty-v0 for", "last words")


def test_what_it_raises_is_logged_with_its_traceback(text: str) -> None:
    assert lines(text, "tests/Faulty-v0 for", "the environment raised")
    assert lines(text, '      File "', "hosted_envs.py", "line")
    assert lines(text, "tests/Faulty-v0 for", "ValueError", "the wheel fell off")


def test_a_loss_says_how_the_process_ended(text: str) -> None:
    assert lines(text, "WARNING", "tests/Faulty-v0", "SESSION_LOST", "SIGABRT")


def test_an_end_says_what_the_session_did_and_took(text: str) -> None:
    (line,) = lines(text, "SESSION_LOST", "SIGABRT")
    assert re.search(r"\(\d+\.\d s, [12] steps?(, \d\.\d s of processor time)?", line)
    (line,) = lines(text, "ended: SESSION_CLOSED", "3 steps")
    assert re.search(r"\(\d+\.\d s, 3 steps, \d\.\d s of processor time, at most \d+ MiB\)$", line)


def test_a_failed_make_says_why(text: str) -> None:
    assert lines(text, "WARNING", "tests/Faulty-v0", "not made", "no simulator here")
