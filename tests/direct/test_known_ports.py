"""Sessions that are made on a direct port that the program knows from an earlier one."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from threading import Thread
from typing import Any

import pytest

from envwire.client import RemoteEnv, ServerUnavailableError
from envwire.client._transports import by_name, targets
from envwire.client._transports.by_name import open_transport
from envwire.client._transports.direct import dialing
from envwire.client._transports.direct.direct import DirectTransport
from envwire.client._transports.targets import KnownPort, known_port
from envwire.client.credentials import Credentials
from envwire.server import Server
from envwire.testing.comparing import identical
from tests.direct.conftest import SETTINGS
from tests.direct.hosted_frames import FRAMES
from tests.direct.test_steps_ahead import ACTIONS, copied, expected
from tests.farm.scene import free_port
from tests.faults.scene import active, eventually


@pytest.fixture(autouse=True)
def _nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "_ports", {})
    monkeypatch.setattr(dialing, "is_local", lambda _target: False)


class Opened:
    """Opens gRPC transports, and counts them."""

    def __init__(self, target: str) -> None:
        self.count, self._target = 0, target

    def __call__(self, kind: str, front: tuple[str, Credentials]) -> Any:
        self.count += 1
        return open_transport(kind, front[0], 10.0, front[1])

    def transport(self, kind: str = "direct-tcp") -> DirectTransport:
        return DirectTransport(self._target, kind, self, Credentials())


@pytest.fixture
def opened(direct: Server) -> Iterator[Opened]:
    made = Opened(direct.target)
    with RemoteEnv(None, FRAMES, transport=made.transport()):
        assert made.count == 1
    yield made
    assert eventually(lambda: active(direct.target) == 0)


def steps(env: RemoteEnv) -> list[Any]:
    env.reset(seed=5)
    return [copied(env.step(action)) for action in ACTIONS]


def test_a_second_session_needs_no_grpc(opened: Opened) -> None:
    with RemoteEnv(None, FRAMES, transport=opened.transport()) as env:
        assert identical(steps(env), expected(ACTIONS))
        env._handle.driver.transport._channel.connection.shutdown(socket.SHUT_RDWR)
        assert identical(steps(env), expected(ACTIONS)), "on a new channel to the same session"
    assert opened.count == 1


def test_on_one_machine_sessions_are_made_over_grpc(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dialing, "is_local", lambda _target: True)
    with RemoteEnv(None, FRAMES, transport=opened.transport("direct")) as env:
        channel = env._handle.driver.transport._channel
        assert channel.connection.family == socket.AF_UNIX
    assert opened.count == 2


def test_a_refusal_is_the_same(opened: Opened) -> None:
    with pytest.raises(Exception, match="none/None"):
        RemoteEnv(None, "none/None-v0", transport=opened.transport())
    assert opened.count == 1


@pytest.mark.parametrize("listens", [False, True])
def test_a_port_where_the_server_is_no_more_costs_one_attempt(
    direct: Server, opened: Opened, listens: bool
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        if not listens:
            other.close()
        targets._ports[direct.target] = KnownPort(f":{port}", "another")
        transport = opened.transport()
        if listens:  # as a server of another kind does
            other.settimeout(60.0)
            hang_up_once(other)
        with RemoteEnv(None, FRAMES, transport=transport) as env:
            assert identical(steps(env), expected(ACTIONS))
    assert opened.count == 2
    found = known_port(direct.target)
    assert found is not None
    assert found.address.rpartition(":")[2] != str(port), "it is learned anew"


def hang_up_once(listener: socket.socket) -> None:
    def hang_up() -> None:
        listener.accept()[0].close()

    Thread(target=hang_up, daemon=True).start()


def test_a_session_on_another_server_is_ended(direct: Server, opened: Opened) -> None:
    """The port now belongs to a server that this program did not mean."""
    found = known_port(direct.target)
    assert found is not None
    targets._ports[direct.target] = found._replace(incarnation="another")
    with RemoteEnv(None, FRAMES, transport=opened.transport()) as env:
        assert identical(steps(env), expected(ACTIONS))
        assert active(direct.target) == 1
    assert opened.count == 2


def test_a_port_is_not_learned_of_another_target_than_was_asked() -> None:
    """A hostile server could name one, and its own port: the next Make there, and its token, would go to it."""
    port = free_port()
    with Server(["direct/*"], **SETTINGS, port=port, advertise=f"localhost:{port}") as server:
        opened = Opened(server.target)
        with RemoteEnv(None, FRAMES, transport=opened.transport()) as env:
            assert env._handle.driver.transport._front[0] == f"localhost:{port}"
    assert not targets._ports


def test_a_port_that_cannot_be_reached_is_not_learned(
    direct: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind a firewall, each further Make would try it in vain."""

    def refuse(*_: Any) -> Any:
        raise ConnectionRefusedError

    monkeypatch.setattr(dialing.Dialer, "_connect", refuse)
    with pytest.raises(ServerUnavailableError):
        RemoteEnv(direct.target, FRAMES, transport="direct-tcp")
    assert known_port(direct.target) is None


def test_a_port_that_the_user_names_is_where_the_first_session_is_made(
    direct: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = int(tcp_address(direct).rpartition(":")[2])
    targets._ports.clear()
    monkeypatch.setattr(by_name, "_grpc", refuse_grpc)
    for _ in range(2):
        with RemoteEnv(direct.target, FRAMES, direct_port=port) as env:
            assert identical(steps(env), expected(ACTIONS))


def test_a_port_that_the_user_names_wrongly_costs_one_attempt(direct: Server) -> None:
    with RemoteEnv(direct.target, FRAMES, direct_port=free_port()) as env:
        assert identical(steps(env), expected(ACTIONS))
    with pytest.raises(ValueError, match="direct_port=70000"):
        RemoteEnv(direct.target, FRAMES, direct_port=70000)


def refuse_grpc(*_: Any) -> Any:
    raise AssertionError("over gRPC")


def tcp_address(server: Server) -> str:
    transport = Opened(server.target).transport()
    with RemoteEnv(None, FRAMES, transport=transport):
        return transport.address
