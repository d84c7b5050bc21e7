"""`envwire dashboard` as a program: its address, its access checks, and its end."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from envwire.client import RemoteEnv
from envwire.server import Server
from envwire.server.cli import _serve as serve
from tests.commands import as_process, envwire, start
from tests.secured import certificates
from tests.tiers import first

ENV = "CartPole-v1"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server([ENV]) as running:
        yield running


def ask(address: str, path: str, key: str) -> Any:
    """Returns the first line of an answer."""
    headers = {"Authorization": f"Bearer {key}"}
    request = urllib.request.Request(address + path, headers=headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.loads(answer.readline())


def test_it_shows_a_server_to_who_has_its_key_and_ends_when_told(server: Server) -> None:
    env = RemoteEnv(server.target, ENV)
    with start("dashboard", server.target, "--port", "0") as process:
        try:
            assert process.stdout is not None
            address, key = process.stdout.readline().split()[1].split("/#key=")
            with pytest.raises(urllib.error.HTTPError, match="401"):
                ask(address, "/api/sessions", "guessed")
            rows: list[Any] = []
            while not rows:
                rows = ask(address, "/api/sessions", key)["rows"]
            assert [(row["env"], row["server"]) for row in rows] == [(ENV, server.target)]
            farm = ask(address, "/api/farm", key)
            assert farm["servers"][0]["state"] == "free"
            assert not farm["servers"][0]["admin"], "nobody is an admin without a token"
            process.terminate()
            assert process.wait(30) == 0
        finally:
            process.kill()
    env.close()


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["localhost:1", "--host", "0.0.0.0"], 2, "0.0.0.0 is not loopback"),
        (["localhost:1", "--host", "192.0.2.1", "--insecure"], 1, "192.0.2.1"),
    ],
)
def test_what_it_does_not_bind(arguments: list[str], status: int, said: str) -> None:
    done = envwire("dashboard", *arguments)
    assert done.returncode == status
    assert done.stderr.startswith("envwire dashboard: ")
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "command", first({"serve": ["serve"], "farm up": ["farm", "up", "-n", "1"]})
)
def test_one_command_serves_environments_and_the_page(command: list[str]) -> None:
    arguments = [*command, ENV, "--port", "0", "--dashboard", "--dashboard-port", "0"]
    with start(*arguments) as process:
        try:
            assert process.stdout is not None
            target = process.stdout.readline().removeprefix("ready: ").strip()
            page = process.stdout.readline()
            assert page.startswith("dashboard: http://127.0.0.1:")
            address, key = page.split()[1].split("/#key=")
            env = RemoteEnv(target, ENV)
            rows: list[Any] = []
            while not rows:
                rows = ask(address, "/api/sessions", key)["rows"]
            assert [row["env"] for row in rows] == [ENV]
            where = f"server={rows[0]['server']}&id={rows[0]['id']}"
            session = ask(address, f"/api/session?{where}", key)
            assert "refused" not in session
            assert session["events"][0]["text"] == "made"
            env.close()
            process.terminate()
            assert process.wait(60) == 0
            with pytest.raises(urllib.error.URLError):
                ask(address, "/api/sessions", key)
        finally:
            process.kill()


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 has no safe path")
def test_the_page_stays_in_the_working_directory_and_takes_no_module_from_it(
    tmp_path: Path,
) -> None:
    (tmp_path / "uvicorn.py").write_text(
        "raise SystemExit('a module of the working directory ran')"
    )
    shutil.copy(certificates().path("ca"), tmp_path / "authority.pem")
    arguments = ["serve", ENV, "--port", "0", "--dashboard", "--dashboard-port", "0"]
    for name, file in certificates().server().items():
        arguments += [f"--{name.replace('_', '-')}", str(file)]
    variables = os.environ | {"ENVWIRE_CA": "authority.pem"}
    with start(*arguments, cwd=tmp_path, env=variables) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            address, key = process.stdout.readline().split()[1].split("/#key=")
            servers: list[Any] = []
            while not servers or servers[0]["error"] == "connecting":
                servers = ask(address, "/api/farm", key)["servers"]
            assert [each["error"] for each in servers] == [""]
        finally:
            process.terminate()
            process.wait(60)


def test_the_page_ends_with_a_server_that_is_killed() -> None:
    arguments = ["serve", ENV, "--port", "0", "--dashboard", "--dashboard-port", "0"]
    with start(*arguments) as process:
        assert process.stdout is not None
        process.stdout.readline()
        address, key = process.stdout.readline().split()[1].split("/#key=")
        assert ask(address, "/api/farm", key)
        process.kill()
        assert process.stdout.read() == "", "its page has the same output, and ends"
        with pytest.raises(urllib.error.URLError):
            ask(address, "/api/farm", key)


def test_a_page_that_cannot_be_served_ends_the_command_before_it_serves() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = as_process("serve", ENV, "--port", "0", "--dashboard", "--dashboard-port", port)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"port {port}" in done.stderr
    assert "--dashboard-port" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_missing_extra_is_named_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(serve.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(typer.Exit), serve.live_page("serve", True, 0):
        pass
    (said,) = capsys.readouterr().err.splitlines()
    assert "pip install 'envwire[dashboard]'" in said
    with serve.live_page("serve", False, 0):
        pass
