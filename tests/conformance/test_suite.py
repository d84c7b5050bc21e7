"""The suite itself: its checks, reports and exit status."""

from __future__ import annotations

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import grpc
import pytest
from typer.testing import CliRunner, Result

from envwire.conformance.checks import CHECKS
from envwire.conformance.outcomes import FailedError, expect_equal
from envwire.conformance.raw.trace import Trace
from envwire.conformance.suite.selection import PROFILES
from envwire.server import Server
from envwire.server.cli._app import app
from envwire.v1.values_pb2 import Value

#: A check that the server passes, and one that it cannot: its environments are called otherwise.
PASSING = "sequence.requests-are-numbered-from-one[unary]"
ELSEWHERE = '[environments]\nCounter = "Conformance/Echo-v0"\n'
FAILING = "steps.a-step-is-taken-once[unary]"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["conformance", *arguments])


def test_names_are_unique_and_say_what_the_server_does() -> None:
    assert [name for name, count in Counter(one.name for one in CHECKS).items() if count > 1] == []
    assert [one.name for one in CHECKS if not one.summary.endswith(".")] == []
    assert {one.profile for one in CHECKS} <= set(PROFILES)
    assert len(CHECKS) > 600


def test_checks_are_listed_without_a_server() -> None:
    listed = run("--list", "--profile", "vector").output.splitlines()
    assert len(listed) == sum(one.profile == "vector" for one in CHECKS)
    assert all(len(line.split("\t")) == 5 for line in listed)


def test_a_server_that_conforms_exits_0(checked: Server, tmp_path: Path) -> None:
    files = tmp_path / "results.json", tmp_path / "results.xml"
    result = run(
        checked.target, "--run", PASSING, "--json", str(files[0]), "--junit", str(files[1])
    )
    assert result.exit_code == 0, result.output
    assert result.output.splitlines()[-1] == "envwire.v1 conforms: core 1/1"
    (found,) = json.loads(files[0].read_text())
    assert (found["name"], found["outcome"]) == (PASSING, "passed")
    suite = ET.fromstring(files[1].read_text())
    assert (suite.get("tests"), suite.get("failures")) == ("1", "0")


def test_a_failure_exits_1_and_shows_what_was_exchanged(checked: Server, tmp_path: Path) -> None:
    (tmp_path / "ids.toml").write_text(ELSEWHERE)
    result = run(checked.target, "--run", FAILING, "--config", str(tmp_path / "ids.toml"))
    assert result.exit_code == 1
    assert f"FAIL {FAILING}  (Driving an environment: DRIVE-4" in result.output
    assert "expected: steps and sum: [1, 1], not []" in result.output
    assert 'sent (unary): {"step": {"header"' in result.output
    assert "envwire.v1 does not conform: core 0/1" in result.output


def test_a_known_failure_exits_0_and_one_that_passes_exits_1(
    checked: Server, tmp_path: Path
) -> None:
    (tmp_path / "ids.toml").write_text(ELSEWHERE)
    (tmp_path / "known").write_text("# not yet\nsteps.a-step-is-*  # counts otherwise\n")
    known = ("--known-failing", str(tmp_path / "known"), "--run", FAILING)
    as_known = run(checked.target, *known, "--config", str(tmp_path / "ids.toml"))
    assert as_known.exit_code == 0
    fixed = run(checked.target, *known)
    assert fixed.exit_code == 1
    assert "known to fail, and passes: take it off the list" in fixed.output


def test_nobody_answers_exits_3() -> None:
    result = run("127.0.0.1:1", "--run", PASSING)
    assert result.exit_code == 3
    assert "no server answers at 127.0.0.1:1" in result.output


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "name a TARGET"),
        (["localhost:1", "--profile", "core,telepathy"], "no profile telepathy"),
        (["localhost:1", "--known-failing", "no-such-file"], "does not exist"),
    ],
)
def test_a_wrong_command_line_exits_2(arguments: list[str], says: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert says in result.output


def test_patterns_choose_checks(checked: Server) -> None:
    result = run(
        checked.target, "--run", "closing.*[unary]", "--skip", "*twice*", "--profile", "core"
    )
    assert "closing.closing-twice" not in result.output
    assert "closing.close-ends-a-session[unary]" in result.output
    assert "[stream]" not in result.output


def test_what_was_skipped_is_counted(checked: Server, tmp_path: Path) -> None:
    (tmp_path / "ids.toml").write_text('[environments]\nEcho = "Conformance/NoSuch-v0"\n')
    names = ("--run", PASSING, "--run", "values.a-value-comes-back-as-it-was-sent/true[unary]")
    result = run(checked.target, *names, "--config", str(tmp_path / "ids.toml"))
    *_, needs, badge = result.output.splitlines()
    assert badge == "envwire.v1 was not checked in full: core 1/1 (1 skipped)"
    assert "the server makes no Conformance/NoSuch-v0. Serve" in needs
    assert result.exit_code == 1


def test_no_other_environments_are_asked_for_than_those_that_are_missing() -> None:
    with Server(["CartPole-v1"]) as server:
        checks = "makes.kwargs-reach-the-environment*", "leases.a-request-being-served-*"
        result = run(server.target, *(each for check in checks for each in ("--run", check)))
    *_, needs, badge = result.output.splitlines()
    assert "makes no Conformance/Counter-v0, Conformance/Slow-v0. Serve" in needs
    assert badge.startswith("envwire.v1 was not checked in full")


def test_a_server_conforms_without_the_environments_that_it_may_leave_out(
    checked: Server, tmp_path: Path
) -> None:
    (tmp_path / "ids.toml").write_text('[environments]\nCrash = "Conformance/NoSuch-v0"\n')
    names = ("--run", PASSING, "--run", "errors.a-crash-ends-one-session*")
    result = run(checked.target, *names, "--config", str(tmp_path / "ids.toml"))
    assert "envwire.v1 conforms: core 1/1 (" in result.output.splitlines()[-1]
    assert result.exit_code == 0


def test_messages_are_shown_as_json() -> None:
    with pytest.raises(FailedError) as failed:
        expect_equal(Value(int_value=1), Value(), "the value")
    assert str(failed.value) == 'the value: {}, not {"intValue": "1"}'


def test_a_large_message_is_not_kept_for_the_report() -> None:
    trace = Trace()
    trace.received("stream", Value(bytes_value=bytes(2**21)))
    [line] = trace.lines()
    assert line == "received (stream): a Value of 2097157 bytes"


class _Unreadable(grpc.GenericRpcHandler):
    """Answers each unary call with the given bytes."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Any:
        return grpc.unary_unary_rpc_method_handler(lambda *_: self._answer)


@pytest.mark.parametrize("answer", [b"", b"\xff\xff"])
def test_answers_that_no_check_expects_are_failures(answer: bytes) -> None:
    with ThreadPoolExecutor(4) as threads:
        server = grpc.server(threads, handlers=[_Unreadable(answer)])
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        result = run(
            f"127.0.0.1:{port}", "--run", "spaces.a-space-in-two-places*", "--run", PASSING
        )
        server.stop(None).wait()
    assert result.exit_code == 1
    assert result.output.splitlines()[-1].startswith("envwire.v1 does not conform: core 0/")
