"""A program answers with a line, ends early, says nothing, or does not end; each has its answer in time."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from envwire.server._ipc.child_program import ChildProgram
from tests.faults.scene import alive, eventually

ECHO = "import sys\nprint(sys.stdin.readline().strip(), flush=True)\nsys.stdin.read()\n"
STUBBORN = (
    "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint(1, flush=True)\n"
    "while True:\n    signal.pause()\n"
)


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return tmp_path / "child_of_a_test.py"


async def spoken(text: str, seconds: float) -> tuple[str, int]:
    child = ChildProgram("child_of_a_test")
    try:
        said = await child.introduce(text, seconds)
        child.end_input()
        child.terminate()
    finally:
        await child.stop(0.2)
    return said, await child.wait()


def test_it_answers_what_it_was_told(program: Path) -> None:
    program.write_text(ECHO)
    said, _ = asyncio.run(spoken('{"a": 1}', 30.0))
    assert said == '{"a": 1}'


def test_one_that_ends_says_nothing(program: Path) -> None:
    program.write_text("raise SystemExit(3)")
    assert asyncio.run(spoken("x" * 100, 30.0)) == ("", 3)


def test_all_lines_of_an_error_are_told(program: Path) -> None:
    program.write_text("print('the module raised:\\nTraceback\\nRuntimeError: no licence')")

    async def scene() -> None:
        child = ChildProgram("child_of_a_test")
        try:
            await child.start("a program", "", 30.0)
        finally:
            await child.stop(0.2)

    with pytest.raises(OSError, match=r"^the module raised:\nTraceback\nRuntimeError: no licence$"):
        asyncio.run(scene())


def test_one_that_says_nothing_is_not_waited_for(program: Path) -> None:
    program.write_text("import sys\nsys.stdin.read()\n")
    with pytest.raises(TimeoutError):
        asyncio.run(spoken("", 0.2))


def test_what_it_started_is_killed_with_it(program: Path) -> None:
    """A stopped process does not notice that its parent has ended."""
    program.write_text(
        "import os, signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\npid = os.fork()\n"
        "if pid:\n    os.waitpid(pid, os.WUNTRACED)\n    print(pid, flush=True)\n"
        "    while True:\n        signal.pause()\n"
        "os.kill(os.getpid(), signal.SIGSTOP)\n"
    )
    said, _ = asyncio.run(spoken("", 30.0))
    assert eventually(lambda: not alive(int(said)))


def test_one_that_does_not_end_is_killed(program: Path) -> None:
    program.write_text(STUBBORN)
    assert asyncio.run(spoken("", 30.0)) == ("1", -9)
