"""The output of a driver is bounded: a driver that prints endlessly, or invalid lines, fails with one line."""

from __future__ import annotations

import subprocess
import sys
from functools import partial

import grpc
import pytest

from envwire.conformance.client import SCENARIOS, ScenarioContext
from envwire.conformance.client.certificate import loopback_certificate
from envwire.conformance.client.driver import Driver
from envwire.conformance.proxy import Behaviour, Proxy, proxy
from envwire.conformance.raw import Access, Grpc, Trace, UnaryLink
from envwire.conformance.suite.runner import Outcome, outcome_of
from envwire.v1 import environment_pb2 as pb

UNRULY = {
    "a line without an end": "while True: print('x' * 2**20, end='')",
    "lines without an end": """while True: print('{"ok": {}}')""",
    "a line of a megabyte": "print('x' * 2**20)",
    "an answer of a megabyte": """print('{"ok": {"info": "' + 'x' * 2**20 + '"}}' * 3)""",
    "a number": """print('{"ok": 3}\\n' * 3)""",
    "an error without a reason": """print('{"error": "why"}')""",
    "lists in lists": "print('[' * 2**20)",
    "no text": "sys.stdout.buffer.write(b'\\xff\\n')",
    "a child that prints": """subprocess.Popen(['yes', '{"ok": {}}'])""",
    "nothing": "",
}


@pytest.mark.parametrize("program", UNRULY.values(), ids=UNRULY)
def test_an_unruly_driver_fails_in_one_line(program: str) -> None:
    (scenario,) = (one for one in SCENARIOS if one.name == "faithful.a-seed-is-sent[unary]")
    driver = Driver([sys.executable, "-c", f"import subprocess, sys\n{program}"])
    context = ScenarioContext(driver, "127.0.0.1:1", "unary", Behaviour(), Trace())
    try:
        outcome, text = outcome_of(partial(scenario.run, context), known=False)
    finally:
        driver.stop()
    assert outcome is Outcome.FAILED
    for line in (text, *context.trace.lines()):
        assert line.isprintable()
        assert len(line) < 1100


def test_a_request_that_is_too_large_is_not_taken_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxy, "MAX_BYTES", 1000)
    with Proxy("127.0.0.1:1", Behaviour()) as before:
        link = UnaryLink(Grpc(Access(before.target), Trace()))
        make = pb.InteractRequest(make=pb.MakeRequest(env_id="x" * 1001))
        answer = link.exchange(make, 10.0)
    assert answer.response.error.code == grpc.StatusCode.RESOURCE_EXHAUSTED.value[0]


def test_a_certificate_is_made_without_a_word() -> None:
    """In a process of its own: the threads of gRPC write into this one's output when a server of another test ends."""
    program = f"from {loopback_certificate.__module__} import *\nwith loopback_certificate(): pass"
    made = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert (made.stdout, made.stderr) == (b"", b"")
