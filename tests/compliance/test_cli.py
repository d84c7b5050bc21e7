"""The command line: what its commands print and how they end, and `envwire serve` as a process."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor_pool import DescriptorPool
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)

from envwire.server import Server
from tests.commands import Done, as_process, envwire, start
from tests.secured import OPEN, Guard

ROOT = Path(__file__).parent.parent.parent


def succeeds(*arguments: str) -> Done:
    done = envwire(*arguments)
    assert done.returncode == 0, done.stderr
    return done


def options(settings: dict[str, Any]) -> list[str]:
    """Writes settings of a server as an operator does."""
    return [
        word
        for name, value in settings.items()
        for word in (f"--{name}".replace("_", "-"), str(value))
    ]


@pytest.fixture(scope="module")
def served(guard: Guard) -> Iterator[str]:
    """HOST:PORT of `envwire serve`, started and stopped as an operator would."""
    hosted = ("CartPole-v1", "tests/*", "--import", "tests.hosted_envs", "--port", "0")
    process = start("serve", *hosted, *options(guard.settings), stderr=subprocess.PIPE, cwd=ROOT)
    assert process.stdout
    line = process.stdout.readline().split()
    assert line[0] == "ready:"
    yield line[1]
    process.send_signal(signal.SIGTERM)
    _, log = process.communicate(timeout=30)
    assert process.returncode == 0, log
    assert "draining" in log


@pytest.fixture
def target(served: str, entered: Guard) -> str:
    """The same, for programs that are let in."""
    assert entered
    return served


def test_list_in_a_pipe_has_whole_ids(target: str) -> None:
    shown = succeeds("list", target)
    rows = [line.split("\t") for line in shown.stdout.splitlines()]
    assert ["CartPole-v1", "gymnasium", "500", "475"] in rows
    assert "tests/Faulty-v0" in [row[0] for row in rows]
    assert "of 64 sessions" in shown.stderr


def test_list_as_json(target: str) -> None:
    shown = json.loads(succeeds("list", target, "--json").stdout)
    assert shown["server"]["max_sessions"] == 64
    rows = [row for row in shown["environments"] if row["id"] == "CartPole-v1"]
    assert {row["library"] for row in rows} == {"envwire", "gymnasium"}
    assert rows[0]["max_episode_steps"] == 500
    assert rows[0]["reward_threshold"] == 475.0


def test_run(target: str) -> None:
    first, again = (
        succeeds("run", target, "CartPole-v1", "--episodes", "3").stdout for _ in range(2)
    )
    assert "mean return" in first
    assert first == again, "the same seed gives the same returns"


def test_bench_tells_where_the_time_goes(target: str) -> None:
    names = ("direct-unix", "direct-tcp", "stream", "unary")
    shown = succeeds("bench", target, "CartPole-v1", "--steps", "50").stdout
    rows = [line for line in shown.splitlines() if line.startswith("│")]
    assert [row.split()[1] for row in rows] == list(names)
    for row in rows:
        rate, p50, p99, env, server, _, _ = (
            float(cell.replace(",", "")) for cell in row.split("│")[2:-1]
        )
        assert rate > 0
        assert 0 < p50 <= p99
        assert env > 0
        assert server > 0


def test_bench_measures_environments_that_step_as_arrays() -> None:
    with Server(["device/*"], imports=["tests.device.hosted"], sys_path=(ROOT,)) as server:
        options = (
            "--num-envs",
            "8",
            "--device",
            "host",
            "--transports",
            "direct-unix",
            "--steps",
            "20",
        )
        shown = succeeds("bench", server.target, "device/Drift-v0", *options).stdout
    (row,) = [line for line in shown.splitlines() if line.startswith("│")]
    rate, _, _, env, server_time, wire, _ = (
        float(cell.replace(",", "")) for cell in row.split("│")[2:-1]
    )
    assert min(rate, env, server_time) > 0
    assert wire >= 0, (
        "what the server took counts up to its next wait, which can be longer than the client's"
    )


def test_bench_refuses_what_is_no_device(target: str) -> None:
    failed = envwire("bench", target, "--device", "gpu")
    assert failed.returncode == 2
    assert "'gpu' is no device" in failed.stderr


def test_bench_names_a_transport_that_there_is_not(target: str) -> None:
    failed = envwire("bench", target, "--transports", "stream,pigeons")
    assert failed.returncode == 2
    assert "pigeons" in failed.stderr


@pytest.mark.parametrize(("address", "says"), [(None, "NoSuch-v0"), ("127.0.0.1:1", "127.0.0.1:1")])
def test_bench_of_what_is_not_there_is_one_line(
    target: str, address: str | None, says: str
) -> None:
    failed = envwire("bench", address or target, "NoSuch-v0")
    assert failed.returncode == 1
    assert failed.stdout == ""
    (line,) = failed.stderr.splitlines()
    assert says in line


def test_run_passes_arguments_and_wrappers_on(target: str) -> None:
    options = [
        *("--kwarg", "sutton_barto_reward=true", "--library", "gymnasium"),
        *("--wrapper", 'TimeLimit={"max_episode_steps": 3}', "--episodes", "1"),
    ]
    shown = succeeds("run", target, "CartPole-v1", *options).stdout
    assert "│ 0.00   │ 3" in shown


def test_run_shows_the_traceback_of_the_environment(target: str) -> None:
    agent = ["--policy", "tests.hosted_envs:always_one", "--episodes", "1"]
    failed = envwire("run", target, "tests/Faulty-v0", *agent)
    assert failed.returncode == 1
    assert "hosted_envs.py" in failed.stderr
    assert "the environment raised" in failed.stderr


def test_run_does_not_call_a_file_error_the_environments(target: str, tmp_path: Path) -> None:
    film = str(tmp_path / "no" / "film.gif")
    options = ["--render", "gif", "--output", film, "--episodes", "1"]
    failed = envwire("run", target, "CartPole-v1", *options)
    assert failed.returncode == 1
    assert film in failed.stderr
    assert "environment" not in failed.stderr


def test_run_shows_text(target: str) -> None:
    shown = succeeds(
        "run",
        target,
        "tests/Faulty-v0",
        "--render",
        "ansi",
        "--max-steps",
        "1",
        "--episodes",
        "1",
        "--policy",
        "tests.hosted_envs:always_zero",
    ).stdout
    assert "steps: 0" in shown
    assert "steps: 1" in shown


def test_run_films(target: str, tmp_path: Path) -> None:
    film = tmp_path / "film.gif"
    succeeds(
        "run", target, "CartPole-v1", "--render", "gif", "--output", str(film), "--episodes", "1"
    )
    assert film.read_bytes()[:6] == b"GIF89a"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["CartPool-v1"], "CartPool-v1"),
        (["CartPole-v1", "--policy", "no_such_module"], "no_such_module"),
    ],
)
def test_runs_that_fail_say_why_in_a_line(target: str, arguments: list[str], says: str) -> None:
    assert_fails(["run", target, *arguments], says)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["serve", "CartPol-v1", "--port", "0"], "did you mean CartPole-v1"),
        (["run", "in-process", "MiniGrid-No-v0"], "pip install minigrid"),
    ],
)
def test_environments_that_are_not_there_are_told_in_a_line(
    arguments: list[str], says: str
) -> None:
    assert_fails(arguments, says, by=as_process if arguments[0] == "serve" else envwire)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [(["--config", "no.toml"], "there is no file no.toml"), (["--host", "0.0.0.0"], "--insecure")],
)
def test_wrong_settings_say_what_is_wrong(arguments: list[str], says: str) -> None:
    assert_fails(["serve", "CartPole-v1", *arguments], says, status=2)


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (["serve", "CartPole-v1", "--port"], "--port"),
        (["serve", "CartPole-v1", "--port", "0", "--direct-port"], "--direct-port"),
        (["farm", "gateway", "--port"], "--port"),
    ],
)
def test_a_port_in_use_is_one_line(arguments: list[str], option: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = as_process(*arguments, str(port))
    assert done.returncode == 1
    assert f"cannot bind 127.0.0.1:{port}: the port is in use" in done.stderr
    assert f"{option} N" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def assert_fails(
    arguments: list[str], says: str, status: int = 1, by: Callable[..., Done] = envwire
) -> None:
    done = by(*arguments)
    assert done.returncode == status
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_health(target: str) -> None:
    assert succeeds("health", target).stdout.strip() == "SERVING"
    silent = envwire("health", "127.0.0.1:1")
    assert silent.returncode == 1
    assert "envwire doctor 127.0.0.1:1" in silent.stderr


@pytest.mark.parametrize("service", ["", "envwire.v1.EnvironmentService"])
def test_health_of_the_service(channel: grpc.Channel, service: str) -> None:
    stub: Any = health_pb2_grpc.HealthStub(channel)
    answer = stub.Check(health_pb2.HealthCheckRequest(service=service), timeout=60)
    assert answer.status == health_pb2.HealthCheckResponse.SERVING


@pytest.mark.parametrize("guard", [OPEN], ids=["in the clear"])  # elsewhere there is none
def test_reflection_tells_the_contract(channel: grpc.Channel) -> None:
    database = ProtoReflectionDescriptorDatabase(channel)
    assert "envwire.v1.EnvironmentService" in database.get_services()
    service = DescriptorPool(database).FindServiceByName("envwire.v1.EnvironmentService")
    assert "Interact" in service.methods_by_name


def test_help_teaches() -> None:
    command = [sys.executable, "-m", "envwire", "--help"]
    assert "Usage" in subprocess.run(command, capture_output=True, text=True, check=True).stdout
