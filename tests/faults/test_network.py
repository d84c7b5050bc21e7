"""Two machines and a bad wire between them: cuts, loss, delay and disorder, over every way to a session."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from envwire.client import (
    RemoteEnv,
    RemoteError,
    RequestTimeoutError,
    ServerUnavailableError,
    SessionLostError,
)
from envwire.server import Server
from tests.faults.hungry_envs import HUNGRY
from tests.faults.network import THERE, Network, Weather, why_not
from tests.faults.scene import active, eventually, serve
from tests.secured import certificates

LEASE = 15.0
WAYS = ("unary", "stream", "direct-tcp", "direct-tcp with TLS")
WEATHERS = {
    "30 % loss": (Weather(loss=0.3), 15),
    "200 ms": (Weather(delay=0.2), 5),
    "disorder": (Weather(delay=0.005, disorder=0.3, twice=0.2), 60),
    "everything": (Weather(loss=0.1, delay=0.02, disorder=0.2, twice=0.1), 25),
}
pytestmark = [pytest.mark.long, pytest.mark.skipif(bool(why_not()), reason=why_not())]


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    with Network(seed=1) as made:
        yield made


@pytest.fixture(autouse=True)
def fine_weather(network: Network) -> Iterator[None]:
    network.mend()
    yield
    network.mend()


def _serve_there(network: Network, direct_port: int, **settings: Any) -> Server:
    settings = {
        "host": THERE,
        "insecure": True,
        "direct_port": direct_port,
        "allow_kwargs": ["size"],
    } | settings
    server = serve(lease=LEASE, step_timeout=60.0, **settings)
    network.over_there(server.start)
    return server


@pytest.fixture(scope="module")
def plain(network: Network) -> Iterator[Server]:
    server = _serve_there(network, 7001)
    yield server
    server.stop()


@pytest.fixture(scope="module")
def secret(network: Network) -> Iterator[Server]:
    server = _serve_there(network, 7002, **certificates().server())
    yield server
    server.stop()


@pytest.fixture(params=WAYS)
def settings(request: pytest.FixtureRequest, plain: Server, secret: Server) -> dict[str, Any]:
    """How to make an environment there."""
    way: str = request.param
    if not way.endswith("TLS"):
        return {"target": plain.target, "transport": way}
    names: dict[str, Any] = {"cert": None, "key": None, "override_authority": "localhost"}
    credentials = certificates().client(**names)
    return {"target": secret.target, "transport": "direct-tcp", "credentials": credentials}


def make(settings: dict[str, Any], **more: Any) -> RemoteEnv:
    env = RemoteEnv(env_id=HUNGRY, **settings, **more)
    env.reset()
    return env


@pytest.mark.parametrize("weather", WEATHERS)
def test_bad_weather_costs_time_and_no_step(
    network: Network, settings: dict[str, Any], weather: str
) -> None:
    env = make(settings)
    network.weather, steps = WEATHERS[weather]
    before = network.lost
    assert [env.step(0)[4]["steps"] for _ in range(steps)] == list(range(1, steps + 1))
    assert network.lost > before or not network.weather.loss
    network.mend()
    env.close()


@pytest.mark.parametrize("size", [1, 200_000])
def test_a_silent_cut_inside_the_lease_is_waited_out(
    network: Network, settings: dict[str, Any], size: int
) -> None:
    env = make(settings, size=size)
    assert env.step(0)[4] == {"steps": 1}
    network.cut()
    threading.Timer(4.0, network.mend).start()
    begun = time.monotonic()
    assert env.step(0)[4] == {"steps": 2}
    assert time.monotonic() - begun > 3.0
    assert env.step(0)[4] == {"steps": 3}
    env.close()


def test_an_unplugged_link_inside_the_lease_is_waited_out(
    network: Network, settings: dict[str, Any]
) -> None:
    env = make(settings)
    network.unplug()
    threading.Timer(3.0, network.plug_in).start()
    assert [env.step(0)[4]["steps"] for _ in range(3)] == [1, 2, 3]
    env.close()


def test_a_cut_longer_than_the_lease_is_told(network: Network, settings: dict[str, Any]) -> None:
    env = make(settings, lease=2.0, timeout=12.0, liveness=4.0)
    network.cut()
    with pytest.raises((ServerUnavailableError, RequestTimeoutError)):
        env.step(0)
    network.mend()
    # The server notices by its own keepalives; then the lease runs out.
    target, credentials = settings["target"], settings.get("credentials")
    assert eventually(lambda: active(target, credentials=credentials) == 0, 60.0)
    with pytest.raises(SessionLostError, match=r"lease of 2 s"):
        env.step(0)
    env.reset()
    assert env.step(0)[4] == {"steps": 1}
    env.close()


def test_a_dead_path_is_noticed_in_the_time_that_was_asked_for(
    network: Network, plain: Server
) -> None:
    """While an answer is awaited whose request has arrived, and while a request is not acknowledged."""
    settings = {"target": plain.target, "transport": "direct-tcp"}
    env = make(settings, lease=1.0, timeout=60.0, liveness=4.0)
    network.cut()
    begun = time.monotonic()
    with pytest.raises(ServerUnavailableError):
        env.step(0)
    assert time.monotonic() - begun < 25.0, "by default it takes 30 s"
    network.mend()
    env.close()


@pytest.mark.timeout(180)
def test_a_client_whose_machine_is_gone_frees_its_slot(
    network: Network, settings: dict[str, Any]
) -> None:
    target, credentials = settings["target"], settings.get("credentials")
    assert eventually(lambda: active(target, credentials=credentials) == 0, 90.0)
    env = make(settings, lease=1.0, timeout=1.0)
    network.cut()
    with pytest.raises(RemoteError):
        env.step(0)
    with contextlib.suppress(RequestTimeoutError):
        env.close()
    # Keepalives of the server: 15 s, then three times 5 s; gRPC's: 20 s and 10 s.
    time.sleep(35.0)
    network.mend()
    assert eventually(lambda: active(target, credentials=credentials) == 0, 60.0)
