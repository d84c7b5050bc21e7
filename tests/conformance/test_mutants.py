"""A server with a seeded defect fails the checks about it; a correct one behind the same proxy passes them."""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
import threading
from collections.abc import Iterator

import pytest

from envwire.conformance.checks import CHECKS
from envwire.conformance.proxy import Behaviour, Proxy, Upstream
from envwire.conformance.raw import Access
from envwire.conformance.suite import Selection
from envwire.conformance.suite.runner import Outcome, Result, Runner
from envwire.server import Server
from envwire.v1 import environment_pb2 as pb
from tests.conformance.mutants import (
    ahead,
    answers,
    channels,
    chunks,
    encoded,
    mailboxes,
    numbers,
    odd,
    owners,
    recordings,
    refusals,
    requests,
    times,
)
from tests.conformance.mutants.mailbox_port import Mailboxed, mailbox_port
from tests.conformance.mutants.mutant import MUTANTS, Mutant
from tests.secured import certificates

pytestmark = pytest.mark.slow
NAMES = sorted({name for mutant in MUTANTS for name in mutant.caught_by})
#: Those that wait for long; `make test-conformance` runs them.
SLOW = [
    mutant
    for mutant in MUTANTS
    if any(name.startswith(("leases.", "frames.who-does")) for name in mutant.caught_by)
]

del (
    ahead,
    answers,
    channels,
    chunks,
    mailboxes,
    numbers,
    odd,
    owners,
    recordings,
    refusals,
    requests,
    times,
)  # importing them is what lists them


def result(proxy: Proxy, name: str, stop: str = "") -> Result:
    (check,) = (check for check in CHECKS if check.name == name)
    access = Access(proxy.target, stop=stop)
    runner = Runner(access, Selection([check.profile], [name]), seconds=3.0)
    (found,) = runner.results()
    return found


@pytest.fixture(scope="module")
def honest(checked: Server) -> Iterator[Proxy]:
    behaviour = Mailboxed()
    with mailbox_port(checked.target, behaviour), Proxy(checked.target, behaviour) as proxy:
        yield proxy


def test_there_are_enough() -> None:
    assert len(MUTANTS) >= 60
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_an_honest_server_passes_behind_the_proxy(honest: Proxy, name: str) -> None:
    found = result(honest, name)
    assert found.outcome is Outcome.PASSED, found.text


@pytest.mark.parametrize(
    "mutant",
    [
        pytest.param(one, id=one.name, marks=[pytest.mark.long] if one in SLOW else [])
        for one in MUTANTS
    ],
)
def test_a_defect_is_found(checked: Server, mutant: Mutant) -> None:
    behaviour = mutant.make()
    with mailbox_port(checked.target, behaviour), Proxy(checked.target, behaviour) as proxy:
        outcomes = {name: result(proxy, name).outcome for name in mutant.caught_by}
    assert outcomes == dict.fromkeys(mutant.caught_by, Outcome.FAILED)


def test_a_server_that_encodes_passes(checked: Server) -> None:
    with Proxy(checked.target, encoded.Encoding()) as proxy:
        assert result(proxy, encoded.WHOLE).outcome is Outcome.PASSED


class TlsOnUnix(Behaviour):
    """Names a Unix socket that speaks TLS."""

    def __init__(self, name: str) -> None:
        self._address = f"unix-abstract:{name}"

    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        response = upstream.forward(request)
        if response.HasField("make"):
            response.make.direct.addresses.append(self._address)
        return response


def speak_tls(listener: socket.socket) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates().path("server"), certificates().path("server-key"))
    connection, _ = listener.accept()
    with contextlib.suppress(OSError), connection:
        context.wrap_socket(connection, server_side=True).close()


def test_a_unix_socket_with_tls_is_found(checked: Server) -> None:
    name = f"envwire-tls-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"\0{name}")
        listener.listen()
        speaker = threading.Thread(target=speak_tls, args=(listener,))
        speaker.start()
        with Proxy(checked.target, TlsOnUnix(name)) as proxy:
            found = result(proxy, "access.the-unix-socket-is-plain[direct]")
        speaker.join(60.0)
    assert found.outcome is Outcome.FAILED


class Unnoticed(Behaviour):
    """Sends no notice when it is stopped."""

    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        response = upstream.forward(request)
        response.ClearField("notices")
        return response


class KeptAsItWas(Behaviour):
    """Sends a kept answer with the notices that it had."""

    def __init__(self) -> None:
        self.kept: dict[bytes, pb.InteractResponse] = {}

    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        if not request.HasField("step"):
            return upstream.forward(request)
        raw = request.SerializeToString(deterministic=True)
        if raw not in self.kept:
            self.kept[raw] = upstream.forward(request)
        return self.kept[raw]


@pytest.mark.parametrize(
    ("behaviour", "outcome"),
    [
        (Behaviour, Outcome.PASSED),
        (Unnoticed, Outcome.FAILED),
        (KeptAsItWas, Outcome.FAILED),
    ],
)
def test_a_server_that_stops_in_silence_is_found(
    behaviour: type[Behaviour], outcome: Outcome
) -> None:
    with (
        Server(["Conformance/*"], drain_timeout=30.0) as server,
        Proxy(server.target, behaviour()) as proxy,
    ):
        name = "draining.a-server-that-stops-says-so[unary]"
        assert result(proxy, name, f"kill {server.pid}").outcome is outcome


@pytest.mark.long
def test_a_server_that_pings_nobody_is_found(honest: Proxy) -> None:
    """The proxy's own gRPC has no keepalive."""
    found = result(honest, "leases.a-silent-connection-is-pinged[unary]")
    assert (found.outcome, found.text) == (
        Outcome.FAILED,
        "the end of a connection that answers no pings",
    )
