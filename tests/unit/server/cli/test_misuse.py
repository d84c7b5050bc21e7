"""A command called wrongly says in one line what to do, and ends with status 2 for usage or 1 for failure."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from envwire.server.cli._app import app

#: Nobody listens there.
NOBODY = "127.0.0.1:1"
#: Python's words, which no option has, and its traceback.
_PYTHON = re.compile(r"\w+=(?=[\s,.;)]|$)|Credentials\(|reset\(\)|[A-Z]\w+Error\b|Traceback|Errno")


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


USAGE = [
    (["run", "localhost", "CartPole-v1"], "write HOST:PORT"),
    (["list", ""], "write HOST:PORT"),
    (["list", "https://localhost:50051"], "ENVWIRE_CA"),
    (["check", "CartPole-v1", "--target", "localhost"], "write HOST:PORT"),
    (["doctor", "localhost"], "write HOST:PORT"),
    (["replay", "x.envrec", "--target", "localhost"], "write HOST:PORT"),
    (["dashboard", "localhost"], "write HOST:PORT"),
    (["run", NOBODY, "CartPole-v1", "--kwarg", "x"], "NAME=VALUE"),
    (["run", NOBODY, "CartPole-v1", "--wrapper", "TimeLimit=3"], "JSON object"),
    (["run", NOBODY, "CartPole-v1", "--transport", "pigeons"], "choose one of unary, stream"),
    (["run", NOBODY, "CartPole-v1", "--import", "x"], "in-process"),
    (["bench", NOBODY, "--transports", "pigeons"], "choose one of unary, stream"),
    (["bench", NOBODY, "--transports", ","], "leave it out"),
    (["export", "x.envrec"], "--minari, --csv, --gif or --mp4"),
    (["token", "two words"], "letters, digits"),
    (["certs", "x", "--host", "not a host"], "'not a host'"),
    (["certs", "x", "--host", "host:50051"], "'host:50051'"),
    (["serve", "CartPole-v1", "--port", "99999"], "a port up to 65535"),
    (["serve", "CartPole-v1", "--join", "localhost"], "HOST:PORT each"),
    (["serve", "CartPole-v1", "--advertise", "localhost"], "it must be HOST:PORT"),
    (["certs", "x", "--client", ""], "--client '' is not a name of 1 to 64 characters"),
    (["certs", "x", "--client", "x" * 65], "is not a name of 1 to 64 characters"),
    (["farm", "up"], "name at least one"),
    (["farm", "up", "--on", "ray", "--min", "0", "CartPole-v1"], "so a server at all times"),
]
FAILURE = [
    (["run", NOBODY, "CartPole-v1"], f"nothing listens at {NOBODY}; is the server running"),
    (["list", NOBODY], f"nothing listens at {NOBODY}; is the server running"),
    (["health", NOBODY], f"nothing listens at {NOBODY}; `envwire doctor"),
    (["sessions", NOBODY], f"nothing listens at {NOBODY}; is it running"),
    (["farm", "status", NOBODY], f"envwire farm status: nothing listens at {NOBODY}"),
    (["eval", NOBODY, "CartPole-v1", "--json", "/no/x.json"], "there is no directory /no"),
    (["run", "in-process", "CartPole-v1", "--policy", "nobody:f"], "name a policy as module:"),
    (["run", "in-process", "CartPool-v1"], "did you mean CartPole-v1"),
    (["run", "in-process", "CartPole-v1", "--import", "no.py"], "there is no such file"),
    (["serve", "CartPole-v1", "--host", "no.invalid", "--insecure"], "is not an address of"),
    (["replay", "no.envrec"], "cannot open no.envrec: No such file"),
]


@pytest.mark.parametrize(
    ("arguments", "says", "status"),
    [*((*case, 2) for case in USAGE), *((*case, 1) for case in FAILURE)],
)
def test_one_line_says_what_to_do(arguments: list[str], says: str, status: int) -> None:
    done = call(*arguments)
    assert done.exit_code == status
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert says in line
    assert not _PYTHON.search(line)


@pytest.mark.parametrize("variable", ["ENVWIRE_CERT", "ENVWIRE_CA"])
@pytest.mark.parametrize(
    "command", ["health", "sessions", "drain", "top", "farm status", "dashboard"]
)
def test_credentials_that_cannot_be_used_end_a_command(
    command: str, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "/no/such.pem")
    done = call(*command.split(), NOBODY)
    assert done.exit_code != 0
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"envwire {command}: ")
    assert "a certificate and its key go together" in line or "cannot read ca" in line


def test_a_wrong_setting_is_wrong_usage_whatever_gave_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "server.toml"
    file.write_text("max_sessions = 'x'")
    from_file = call("serve", "CartPole-v1", "--config", str(file))
    monkeypatch.setenv("ENVWIRE_MAX_SESSIONS", "x")
    for done, source in ((from_file, str(file)), (call("serve", "x"), "ENVWIRE_MAX_SESSIONS")):
        assert done.exit_code == 2
        (line,) = done.stderr.splitlines()
        assert line.startswith(f"envwire serve: {source}")


def test_a_server_whose_output_nobody_reads_says_so() -> None:
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "envwire", "farm", "gateway", "--port", "0"]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, check=False, text=True)
    os.close(write)
    assert done.returncode == 1
    line = done.stderr.splitlines()[-1]
    assert re.fullmatch(r"envwire farm gateway: nobody reads that 127.0.0.1:\d+ is ready: .*", line)


def test_a_bar_is_gone_before_an_error_is_printed() -> None:
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "envwire", "bench", NOBODY]
    subprocess.run(command, stdout=theirs, stderr=theirs, env={"TERM": "xterm"}, check=False)
    os.close(theirs)
    *_, shown = os.read(ours, 2**16).split(b"\x1b[2K")
    os.close(ours)
    assert shown.startswith(b"envwire bench: nothing listens")


@pytest.mark.parametrize(
    "arguments",
    [
        ["conformance", "localhost"],
        ["conformance", NOBODY, "--run", "no.such"],
        ["conformance", NOBODY, "--junit", "/no/x.xml"],
        ["conformance", NOBODY, "--config", "/no/x.toml"],
        ["conformance", NOBODY, "--known-failing", "/"],
        ["conformance", "--client", "true", "--transport", "pigeons"],
        ["conformance", "--client", "true", "--run", "no.such"],
        ["conformance", "--client", "true", "--json", "/no/x.json"],
        ["conformance", "--client", "true", "--known-failing", "/"],
    ],
)
def test_the_suite_is_called_wrongly(arguments: list[str]) -> None:
    done = call(*arguments)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert arguments[0] in done.stderr


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("seconds = 'x'", "seconds is 'x'; it must be a number"),
        ("skip = 3", "skip is 3; it must be a list"),
        ("operator = 3", "operator is 3; it must be a table"),
        ("[operator]\nlists = 3", "lists is 3; it must be true or false"),
        ("secnds = 3", "unknown keys secnds"),
        ("seconds =", "Invalid value"),
    ],
)
def test_the_suite_is_configured_wrongly(tmp_path: Path, setting: str, says: str) -> None:
    file = tmp_path / "server.toml"
    file.write_text(setting)
    done = call("conformance", NOBODY, "--config", str(file))
    assert done.exit_code == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"envwire conformance: {file}: {says}")


def test_doctor_has_no_words_of_python() -> None:
    done = call("doctor", NOBODY)
    assert done.exit_code == 1
    assert not _PYTHON.search(done.stdout)


def test_only_what_a_token_is_used_for_is_in_the_output() -> None:
    done = call("token", "alice", "--scope", "observe")
    token, line = done.stdout.splitlines()
    assert re.fullmatch(r"envwire_[\w-]{43}", token)
    assert re.fullmatch(r"alice observe [0-9a-f]{64}", line)
    assert "ENVWIRE_TOKEN" in done.stderr
    assert "--tokens" in done.stderr


def test_the_paths_of_certificates_are_the_output(tmp_path: Path) -> None:
    done = call("certs", str(tmp_path / "new"))
    assert all(Path(line).exists() for line in done.stdout.splitlines())
    assert "--tls-cert" in done.stderr


def test_what_a_locale_cannot_show_ends_no_command() -> None:
    command = [sys.executable, "-m", "envwire", "run", "in-process", "CartPole-v1"]
    done = subprocess.run(
        [*command, "--episodes", "1"],
        env={"PYTHONIOENCODING": "ascii", "PATH": ""},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert b"mean return 18.00 ? 0.00" in done.stdout
