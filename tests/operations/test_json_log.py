"""The log as JSON objects: what each line says in fields of its own, and what no line says."""

from __future__ import annotations

import json
import logging
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from envwire.client import Credentials, RemoteEnv, RemoteError, SessionLostError
from envwire.server._auth.scopes import Scope
from envwire.server._auth.tokens import new_token
from envwire.server._logs import JsonFormatter, extra, of_sessions
from tests.commands import start
from tests.hosted_envs import Fault

ROOT = Path(__file__).parents[2]
ENV = "tests/Faulty-v0"
#: Values of a client: of a keyword argument, and of an option that comes back beside an observation.
VALUES = {"wrong": "kwarg-77aa", "option": "option-6f1d"}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, list[str]]:
    """The log after environments printed, raised and died, and what must not be in it."""
    directory = tmp_path_factory.mktemp("log")
    token, line = new_token("alice", {Scope.PLAY})
    (directory / "tokens").write_text(line + "\n")
    log = directory / "server.log"
    command = ["serve", ENV, "--import", "tests.hosted_envs", "--port", "0"]
    more = ["--tokens", str(directory / "tokens"), "--log-format", "json"]
    with log.open("w") as stderr:
        process = start(*command, *more, stderr=stderr.fileno(), cwd=ROOT)
        assert process.stdout
        target = process.stdout.readline().split()[1]
        known = Credentials(token=token)
        _misuse(target, known)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
    return log.read_text(), [token, *VALUES.values()]


def _misuse(target: str, known: Credentials) -> None:
    with pytest.raises(RemoteError):
        RemoteEnv(target, ENV, credentials=Credentials(token="token-no-one-knows"))
    with pytest.raises(TypeError):
        RemoteEnv(target, ENV, credentials=known, wrong=VALUES["wrong"])
    with pytest.raises(RuntimeError, match="no simulator here"):
        RemoteEnv(target, ENV, credentials=known, raise_on_make=True)
    env = RemoteEnv(target, ENV, credentials=known)
    _, info = env.reset(options={"text": VALUES["option"]})
    assert info["options"] == {"text": VALUES["option"]}
    with pytest.raises(ValueError, match="the wheel fell off"):
        env.step(Fault.RAISE)
    with pytest.raises(SessionLostError):
        env.step(Fault.PRINT_AND_ABORT)
    env.close()


@pytest.fixture
def lines(told: tuple[str, list[str]]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in told[0].splitlines()]


def test_each_line_is_an_object_with_time_level_logger_and_message(
    lines: list[dict[str, Any]],
) -> None:
    assert len(lines) > 5
    for line in lines:
        assert {"time", "level", "logger", "message", "stream"} <= line.keys()
        assert line["time"].endswith("Z")


def test_a_line_about_a_session_has_it_in_fields(lines: list[dict[str, Any]]) -> None:
    (made,) = (line for line in lines if line["message"].startswith("made in process"))
    assert made["client"] == "token alice"
    assert made["env_id"] == ENV
    (lost,) = (line for line in lines if line.get("reason") == "SESSION_LOST")
    assert lost["session"] == made["session"]
    assert (lost["level"], lost["client"], lost["env_id"]) == ("WARNING", "token alice", ENV)


def test_the_environments_output_is_a_stream_of_its_own(lines: list[dict[str, Any]]) -> None:
    printed = [line for line in lines if "last words" in line["message"]]
    raised = [line for line in lines if "the wheel fell off" in line["message"]]
    assert printed
    assert raised
    for line in printed + raised:
        assert line["stream"] == "environment"
        assert (line["client"], line["env_id"]) == ("token alice", ENV)
        assert len(line["session"]) > 32


def test_what_an_environment_raised_when_it_was_made_is_its_own_words(
    lines: list[dict[str, Any]],
) -> None:
    (line,) = (line for line in lines if "no simulator here" in line["message"])
    assert (line["stream"], line["reason"]) == ("environment", "ENVIRONMENT_RAISED")


def test_a_caller_that_is_turned_away_has_a_reason(lines: list[dict[str, Any]]) -> None:
    assert [line for line in lines if line.get("reason") == "UNAUTHENTICATED"]


def test_no_line_has_a_token_or_a_value_of_a_client(told: tuple[str, list[str]]) -> None:
    text, secrets = told
    assert "token-no-one-knows" not in text
    assert [secret for secret in secrets if secret in text] == []


def test_a_line_break_or_a_quote_stays_inside_its_object() -> None:
    record = logging.LogRecord("x", logging.INFO, "", 0, "%s", ('two\n"lines"',), None)
    line = JsonFormatter().format(record)
    assert "\n" not in line
    assert json.loads(line)["message"] == 'two\n"lines"'


def test_fields_and_a_traceback_are_part_of_the_object() -> None:
    try:
        raise KeyError("lost")
    except KeyError:
        info = sys.exc_info()
    record = logging.LogRecord("x", logging.ERROR, "", 0, "text", (), info)
    record.__dict__.update(extra(message="other", session="a"))
    line = json.loads(JsonFormatter().format(record))
    assert (line["message"], line["session"]) == ("other", "a")
    assert "KeyError: 'lost'" in line["exception"]


def test_sessions_that_share_a_process_share_its_lines() -> None:
    one = {"session": "a", "client": "me", "env_id": "Lab-v0"}
    other = {"session": "b", "client": "me", "env_id": "Field-v0"}
    assert of_sessions([]) == {}
    assert of_sessions([one]) == one
    assert of_sessions([one, other]) == {"client": "me", "sessions": ["a", "b"]}
