"""A farm's processor time: each second of an environment's process is counted once, whoever shares the process."""

from __future__ import annotations

import pytest

from envwire.client import RemoteEnv
from tests.farm.scene import Gateway, server
from tests.operations.test_http_port import Port

#: Seconds that each environment works, and most that processes may take beside that.
WORK, BESIDE = 1.0, 1.5


@pytest.mark.parametrize("shared", [1, 64], ids=["apart", "shared"])
def test_sessions_of_a_process_that_close_lose_and_double_no_time(shared: int) -> None:
    port = Port()
    gateway = Gateway("--http-port", str(port.number)).start()
    try:
        with server(gateway, sessions_per_process=shared) as one:
            gateway.await_servers(one)
            for _ in range(2):  # the first process ends before the second begins
                envs = [RemoteEnv(gateway.target, "tests/Faulty-v0") for _ in range(2)]
                for env in envs:
                    env.get_wrapper_attr("work")(WORK)
                    env.close()
        # The server has left, with its last report.
        counted = port.metrics()["envwire_farm_cpu_seconds_total"]
        assert 4 * WORK <= counted < 4 * WORK + BESIDE
    finally:
        gateway.kill()
