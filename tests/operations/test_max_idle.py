"""A client that stays connected and sends nothing loses its slot (`--max-idle`), and is told before and after."""

from __future__ import annotations

import re
import time

import pytest

from envwire.client import RemoteEnv, SessionLostError
from envwire.server import Server

ENV = "CartPole-v1"


def make(target: str, transport: str) -> RemoteEnv:
    with pytest.warns(UserWarning, match=re.escape("gets no request for 3 s (--max-idle)")):
        return RemoteEnv(target, ENV, transport=transport)


def test_idle_clients_free_their_slots(capfd: pytest.CaptureFixture[str]) -> None:
    # A request may take less long than an environment may be idle: a silent session is probed, which is no use of it.
    with Server([ENV], max_idle=3.0, step_timeout=1.0) as server:
        idle = [make(server.target, transport) for transport in ("direct", "stream")]
        busy = make(server.target, "direct")
        for env in (*idle, busy):
            env.reset(seed=1)
        until, log = time.monotonic() + 60, ""
        while log.count("ended: SESSION_EXPIRED") < len(idle):
            busy.step(0)
            busy.reset()
            time.sleep(0.05)
            log += capfd.readouterr().err
            assert time.monotonic() < until
        told = re.findall(r"no request for \d s; it ends in \d s unless one comes", log)
        assert len(told) == len(idle)
        busy.step(0)
        for env in idle:
            with pytest.raises(SessionLostError, match="sent no request for 3 s") as caught:
                env.step(0)
            assert caught.value.reason == "SESSION_EXPIRED"
        with pytest.warns(UserWarning, match="max-idle"):
            idle[0].reset()
        for env in (*idle, busy):
            env.close()
