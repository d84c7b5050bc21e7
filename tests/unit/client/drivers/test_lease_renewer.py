"""Closed sessions are released, however often their environment is made again."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from envwire.client import RemoteEnv, aio
from envwire.client._drivers import lease_renewer
from envwire.client._drivers.lease_renewer import close_later
from envwire.client.errors import RequestTimeoutError, ServerUnavailableError
from envwire.server import InProcessTransport
from tests.faults.scene import eventually
from tests.unit.client.driven import ANYTHING, driver_over


@pytest.mark.parametrize("on_lost", ["raise", "truncate", "replay"])
def test_nothing_stays_of_sessions_that_were_closed(on_lost: str) -> None:
    transport = InProcessTransport(["CartPole-v1"])
    env = RemoteEnv(None, "CartPole-v1", transport=transport, on_lost=on_lost)
    drivers = []
    for _ in range(3):
        env.reset(seed=1)
        drivers.append(weakref.ref(driver_of(env)))
        env.close()
    assert gone(drivers)


def test_nor_in_a_loop() -> None:
    async def closed() -> bool:
        transport = InProcessTransport(["CartPole-v1"])
        env = aio.RemoteEnv(None, "CartPole-v1", transport=transport)
        drivers = []
        for _ in range(3):
            await env.reset(seed=1)
            drivers.append(weakref.ref(driver_of(env).blocking))
            await env.close()
        return gone(drivers)

    assert asyncio.run(closed())


def gone(drivers: list[Any]) -> bool:
    """Waits until the garbage collector frees the drivers.

    It collects again and again: while the keeper's thread looks which leases are due, it refers to the drivers.
    """

    def none_left() -> bool:
        gc.collect()
        return all(driver() is None for driver in drivers)

    return eventually(none_left)


class Leaving:
    """A transport to a server that does not answer, and then is gone."""

    def __init__(self) -> None:
        self.attempts = 0
        self.closed = threading.Event()

    def exchange(self, *_: object) -> None:
        self.attempts += 1
        if self.attempts == 1:
            raise RequestTimeoutError("no answer")
        failure = ServerUnavailableError("nothing listens")
        failure.connected, failure.refused = False, True
        raise failure

    def close(self) -> None:
        self.closed.set()


def test_what_was_collected_asks_a_server_that_is_gone_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    transport = Leaving()
    driver = driver_over(transport, lease=10.0, timeout=10.0)
    with pytest.raises(RequestTimeoutError):
        driver.serve(ANYTHING)
    close_later(driver)
    assert transport.closed.wait(30)
    assert transport.attempts == 2
    assert "x: nothing listens" not in caplog.text


def driver_of(env: Any) -> Any:
    return env._handle.driver


class Owned:
    """A session that another thread may begin or stop looking after at any time."""


def test_sessions_that_come_while_a_program_exits_do_not_keep_the_others_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    late: Any = Owned()
    begun: list[threading.Thread] = []

    class Crowd(weakref.WeakSet[Any]):
        """The open sessions, which another thread adds to while they are listed."""

        def __iter__(self) -> Iterator[Any]:
            for each in super().__iter__():
                adding = threading.Thread(target=lease_renewer.keep, args=(late,), daemon=True)
                adding.start()
                adding.join(0.2)
                begun.append(adding)
                yield each

    owned = [Owned() for _ in range(3)]
    closed: list[Any] = []
    monkeypatch.setattr(lease_renewer, "_open", Crowd(owned))
    monkeypatch.setattr(lease_renewer, "_renew", lambda _: None)
    monkeypatch.setattr(lease_renewer, "_close", lambda driver, _: closed.append(driver))
    lease_renewer._close_all()
    for adding in begun:  # else it adds to the sessions of the next test
        adding.join()
    assert set(owned) <= set(closed)
