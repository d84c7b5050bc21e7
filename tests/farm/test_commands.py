"""The commands of a farm: up, status, gateway."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import gymnasium
import numpy as np
import pytest

from envwire.client import RemoteEnv, RemoteError
from envwire.server._auth.scopes import Scope
from tests.farm.scene import ENV, Gateway
from tests.secured import write_tokens

T = TypeVar("T")
ENVWIRE = (sys.executable, "-m", "envwire")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*ENVWIRE, *arguments], capture_output=True, text=True, timeout=200, check=False
    )


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("farm") / "log"


@pytest.fixture(scope="module")
def target(log: Path) -> Iterator[str]:
    command = [*ENVWIRE, "farm", "up", "-n", "2", "--port", "0", ENV, "--max-sessions", "3"]
    with (
        log.open("w") as written,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=written, text=True) as process,
    ):
        assert process.stdout is not None
        said = process.stdout.readline()
        assert said.startswith("ready: ")
        yield said.split()[1]
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


def test_a_farm_in_one_command(target: str) -> None:
    env = RemoteEnv(target, ENV)
    env.reset(seed=1)
    env.step(1)
    shown = json.loads(run("farm", "status", target, "--json").stdout)
    assert [each["state"] for each in shown["servers"]] == ["STATE_FREE"] * 2
    assert [each["max_sessions"] for each in shown["servers"]] == [3, 3]
    env.close()


def test_each_line_of_the_log_names_its_server(target: str, log: Path) -> None:
    servers = {row.split("\t")[0] for row in run("farm", "status", target).stdout.splitlines()}
    lines = [line for line in log.read_text().splitlines() if "registered with gateway" in line]
    assert {line.split()[0] for line in lines} == servers


def test_programs_in_any_language_run_on_a_farm() -> None:
    program = f"{sys.executable} {Path(__file__).parents[1] / 'programs' / 'simulator.py'}"
    command = [*ENVWIRE, "farm", "up", "-n", "1", "--port", "0", "--exec", program, ENV]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        with RemoteEnv(process.stdout.readline().split()[1], ENV) as env:
            env.reset(seed=1)
            env.step(1)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


def test_status_in_a_pipe(target: str) -> None:
    done = run("farm", "status", target)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert [row[1] for row in rows] == ["free"] * 2
    assert "2 servers" in done.stderr


def test_a_server_killed_by_the_id_that_status_shows_is_replaced(target: str) -> None:
    killed = pids(target)[0]
    os.kill(killed, signal.SIGKILL)
    deadline = time.monotonic() + 60
    while killed in (now := pids(target)) or len(now) < 2:
        assert time.monotonic() < deadline


def pids(target: str) -> list[int]:
    """Returns the process ids of a farm's servers that take Makes."""
    rows = [line.split("\t") for line in run("farm", "status", target).stdout.splitlines()]
    return [int(row[6]) for row in rows if row[1] == "free"]


def test_makes_wait_at_the_farms_address() -> None:
    """Not at its servers, each of which may be full while another is not."""
    options = ("--queue", "4", "--queue-timeout", "60")
    command = [*ENVWIRE, "farm", "up", "-n", "1", "--port", "0", ENV, "--max-sessions", "1"]
    with subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            target = process.stdout.readline().split()[1]
            first = RemoteEnv(target, ENV)
            with ThreadPoolExecutor(1) as pool:
                waiting = pool.submit(RemoteEnv, target, ENV)
                until_one_waits(target)
                first.close()
                waiting.result(60).close()
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0


def until_one_waits(target: str) -> None:
    deadline = time.monotonic() + 60
    while "1 Make waits" not in run("farm", "status", target).stderr:
        assert time.monotonic() < deadline


def test_a_quota_of_a_farm_takes_tokens() -> None:
    done = run("farm", "up", ENV, "--port", "0", "--quota", "2")
    assert done.returncode == 2
    assert "--quota counts by token; give --tokens as well" in done.stderr


def test_the_health_of_a_farm_without_a_server() -> None:
    gateway = Gateway().start()
    try:
        done = run("health", gateway.target)
        assert (done.returncode, done.stdout) == (3, "")
        assert "answers, but no server is in its farm; start one with `envwire serve" in done.stderr
    finally:
        gateway.kill()


def test_status_of_nothing() -> None:
    done = run("farm", "status", "127.0.0.1:1")
    assert done.returncode == 1
    assert "envwire farm status: nothing listens at 127.0.0.1:1" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (("farm", "up", "Nothing-v0", "--port", "0"), 1, "no environment matches 'Nothing-v0'"),
        (("farm", "up", "--port", "0"), 2, "nothing to serve"),
        (
            ("farm", "up", ENV, "--on", "compose", "--tokens", __file__),
            2,
            "--tokens is for --on local",
        ),
        (("farm", "gateway", "--host", "0.0.0.0"), 2, "refusing to bind 0.0.0.0"),
        (("farm", "gateway", "--port", "-1"), 2, "port (--port) is -1"),
        (("serve", ENV, "--label", "gpu"), 2, "NAME=VALUE each"),
    ],
)
def test_what_cannot_work_is_said(arguments: tuple[str, ...], status: int, told: str) -> None:
    done = run(*arguments)
    assert done.returncode == status
    assert told in done.stderr


def test_other_commands_take_a_gateway_for_a_server(target: str) -> None:
    assert run("health", target).stdout.strip() == "SERVING"
    assert ENV in run("list", target).stdout
    assert run("run", target, ENV, "--episodes", "1").returncode == 0


def test_a_farm_with_tokens_drains_a_server_and_puts_another_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its servers join with a token that is in no file."""
    scopes = [Scope.PLAY, Scope.OBSERVE, Scope.ADMIN]
    token = write_tokens(tmp_path / "tokens", {"me": scopes})["me"]
    options = ("-n", "2", "--port", "0", "--tokens", str(tmp_path / "tokens"))
    command = [*ENVWIRE, "farm", "up", *options, ENV]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        target = process.stdout.readline().split()[1]
        try:
            with pytest.raises(RemoteError, match="asks for a token"):
                RemoteEnv(target, ENV)
            monkeypatch.setenv("ENVWIRE_TOKEN", token)
            env, local = RemoteEnv(target, ENV, on_lost="replay"), gymnasium.make(ENV)
            np.testing.assert_array_equal(env.reset(seed=1)[0], local.reset(seed=1)[0])
            [held] = until(lambda: [each for each, sessions in free(target).items() if sessions])
            assert run("drain", target, "--server", held).returncode == 0

            def moved() -> bool:
                np.testing.assert_array_equal(env.step(1)[0], local.step(1)[0])
                np.testing.assert_array_equal(env.step(0)[0], local.step(0)[0])
                there = free(target)
                return there.get(held) == 0 and sum(there.values()) == 1

            until(moved)
            assert env.connection_stats.lost == 0
            env.close()
        finally:
            process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


def free(target: str) -> dict[str, int]:
    """Returns how many sessions the free servers of a farm have, by address."""
    listed = json.loads(run("farm", "status", target, "--json").stdout)["servers"]
    there = [each for each in listed if each["state"] == "STATE_FREE"]
    return {each["address"]: each.get("active_sessions", 0) for each in there}


def until(condition: Callable[[], T]) -> T:
    """Waits until a condition holds; returns its value."""
    deadline = time.monotonic() + 60
    while not (found := condition()):
        assert time.monotonic() < deadline
    return found


def test_a_gateway_stops_when_it_is_told() -> None:
    gateway = Gateway().start()
    gateway.signal(signal.SIGTERM)
    assert gateway.process.wait(30) == 0
    gateway.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_farm_that_is_still_starting_stops_when_it_is_told(
    number: signal.Signals, tmp_path: Path
) -> None:
    """Its servers import for longer than this test waits; none of them stays."""
    marks = tmp_path / "marks"
    marks.mkdir()
    (tmp_path / "slow_module.py").write_text(
        f"import os, pathlib, time\npathlib.Path({str(marks)!r}, str(os.getpid())).touch()\ntime.sleep(600)\n"
    )
    command = [*ENVWIRE, "farm", "up", "-n", "2", "--port", "0", "--import", "slow_module", ENV]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 60
        while len(list(marks.iterdir())) < 2:
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(number)
        assert process.wait(60) == 0
        assert process.stdout is not None
        assert process.stdout.read() == ""
    for mark in marks.iterdir():
        assert not Path("/proc", mark.name).exists()
