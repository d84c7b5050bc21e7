"""`envwire serve --dev`: an author edits a module while the server runs, and debugs it in a terminal."""

from __future__ import annotations

import os
import subprocess
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

from envwire.client import RemoteEnv, RemoteError
from envwire.server.config import ServerConfig
from tests.commands import envwire, start

_MODULE = """
import envwire.envs as gym

class Maze(gym.Env):
    observation_space = gym.spaces.Discrete(9)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 1, {}

    def step(self, action):
        raise ValueError("wall one")

gym.register("lab/Maze-v0", entry_point=Maze)
"""
#: Time of all edits, in nanoseconds: Python tells compiled files apart by its seconds.
_SECOND = 1_700_000_000_000_000_000


class Laboratory:
    """A module, and a server of it whose log is read line by line."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "maze.py"
        self._edits = 0
        self.text = _MODULE
        self._write()
        command = ("serve", "lab/*", "--import", "maze.py", "--port", "0", "--dev")
        self._process = start(*command, stderr=subprocess.PIPE, cwd=folder)
        assert self._process.stdout is not None
        self.target = self._process.stdout.readline().split()[1]

    def edit(self, old: str, new: str) -> None:
        self.text = self.text.replace(old, new)
        self._write()

    def restore(self) -> None:
        """Takes all edits back; the next make loads the module as it was."""
        self.text = _MODULE
        self._write()

    def _write(self) -> None:
        """Writes the module in one stroke; all edits fall into one second."""
        self._edits += 1
        written = self.path.with_suffix(".new")
        written.write_text(self.text, encoding="utf-8")
        os.utime(written, ns=(0, _SECOND + self._edits))
        written.replace(self.path)

    def make(self) -> RemoteEnv:
        return RemoteEnv(self.target, "lab/Maze-v0")

    def await_log(self, *words: str) -> str:
        """Returns the next line that holds the words."""
        assert self._process.stderr is not None
        for line in self._process.stderr:
            if all(word in line for word in words):
                return line
        raise AssertionError(f"the server ended and logged no {words}")

    def stop(self) -> None:
        self._process.terminate()
        self._process.communicate(timeout=60)


@pytest.fixture
def laboratory(tmp_path: Path) -> Iterator[Laboratory]:
    """One whose log the test reads from its beginning."""
    running = Laboratory(tmp_path)
    yield running
    running.stop()


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    running = Laboratory(tmp_path_factory.mktemp("laboratory"))
    yield running
    running.stop()


@pytest.fixture
def shared(lasting: Laboratory) -> Laboratory:
    """One that other tests use as well, for answers of the server."""
    lasting.restore()
    return lasting


def raised(env: RemoteEnv) -> str:
    """Returns the server's traceback of a step."""
    with pytest.raises(ValueError, match="wall") as caught:
        env.step(0)
    assert caught.value.__cause__ is not None
    return "".join(traceback.format_exception(caught.value.__cause__))


def test_new_sessions_get_the_edited_code_and_old_ones_go_on(laboratory: Laboratory) -> None:
    with laboratory.make() as old:
        assert old.reset()[0] == 1
        laboratory.edit("return 1,", "return 2,")  # as long as before, and within a second
        with laboratory.make() as new:
            assert new.reset()[0] == 2
            assert old.reset()[0] == 1
            said = laboratory.await_log("maze.py was edited")
            assert "1 go on with what they began with" in said


@pytest.mark.slow
def test_tracebacks_show_the_lines_that_ran(shared: Laboratory) -> None:
    with shared.make() as old:
        old.reset()
        shared.edit("import envwire", "\n\n# shifted\nimport envwire")
        shared.edit("wall one", "wall two")
        with shared.make() as new:
            new.reset()
            assert 'line 13, in step\n    raise ValueError("wall one")' in raised(old)
            assert 'line 16, in step\n    raise ValueError("wall two")' in raised(new)


@pytest.mark.slow
def test_the_terminal_shows_an_edit_that_cannot_be_imported_before_anything_is_made(
    laboratory: Laboratory,
) -> None:
    laboratory.edit("gym.register", "gym.regster")
    laboratory.await_log("maze.py was edited; nothing is made until it is mended")
    laboratory.await_log("AttributeError", "regster")


def test_a_broken_edit_is_the_answer_to_a_make_until_it_is_mended(shared: Laboratory) -> None:
    with shared.make() as old:
        shared.edit("import envwire", "import (envwire")
        with pytest.raises(RemoteError, match=r"maze.py(.|\n)*line 2(.|\n)*SyntaxError"):
            shared.make()
        assert old.reset()[0] == 1
        shared.edit("import (envwire", "import envwire")
        shared.make().close()


@pytest.mark.slow
def test_a_module_that_could_not_be_imported_is_tried_again_with_each_make(
    shared: Laboratory,
) -> None:
    shared.edit("import envwire", "import walls\nimport envwire")
    with pytest.raises(RemoteError, match="No module named 'walls'"):
        shared.make()
    (shared.path.parent / "walls.py").write_text("", encoding="utf-8")  # was not there to watch
    shared.make().close()


def test_an_id_that_an_edit_registers_can_be_made(shared: Laboratory) -> None:
    shared.edit(", entry_point=Maze)", ', entry_point=Maze)\ngym.register("lab/New-v0", Maze)')
    RemoteEnv(shared.target, "lab/New-v0").close()


@pytest.mark.slow
def test_a_crash_of_a_session_from_before_an_edit_is_still_told(shared: Laboratory) -> None:
    shared.edit('raise ValueError("wall one")', "import os; os._exit(7)")
    with shared.make() as old:
        old.reset()
        shared.edit("return 1,", "return 2,")
        shared.make().close()
        with pytest.raises(RemoteError, match="status 7"):
            old.step(0)


def test_breakpoint_on_a_server_says_where_it_works(shared: Laboratory) -> None:
    shared.edit('raise ValueError("wall one")', "breakpoint()")
    with shared.make() as env:
        env.reset()
        with pytest.raises(RuntimeError, match="envwire run in-process ENV_ID --import"):
            env.step(0)


def test_breakpoint_works_in_process(tmp_path: Path) -> None:
    text = _MODULE.replace(
        'raise ValueError("wall one")', "breakpoint()\n        return 2, 1.5, True, False, {}"
    )
    (tmp_path / "maze.py").write_text(text, encoding="utf-8")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "envwire",
            "run",
            "in-process",
            "lab/Maze-v0",
            "--import",
            "maze.py",
            "--episodes",
            "1",
        ],
        input="print('the action is', int(action) in (0, 1))\ncontinue\n",
        capture_output=True,
        text=True,
        timeout=200,
        check=True,
        cwd=tmp_path,
    )
    assert "the action is True" in done.stdout
    assert "mean return 1.50" in done.stdout


def test_modules_are_named_for_the_command_s_own_process_alone() -> None:
    done = envwire("run", "localhost:1", "lab/Maze-v0", "--import", "maze.py")
    assert done.returncode == 2
    assert "--import goes with the target in-process" in done.stderr


@pytest.mark.parametrize("other", [{"sessions_per_process": 2}, {"join": ("localhost:50050",)}])
def test_dev_is_refused_where_it_could_not_hold(other: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="--dev goes neither with --sessions-per-process"):
        ServerConfig(("CartPole-v1",), dev=True, **other)
