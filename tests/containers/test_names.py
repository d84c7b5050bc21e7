"""One DNS name for several containers: every environment and every vector works, with and without a gateway."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.containers.engine import IMAGE, SERVE, docker, missing, network

SERVERS, ENVS, VECTORS = 4, 80, 20

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(600),
    pytest.mark.skipif(bool(missing()), reason=missing() or "-"),
]


@pytest.mark.parametrize("gateways", [0, 2])
def test_a_hundred_of_a_hundred(gateways: int) -> None:
    with network() as ours:
        named = ("--network-alias", "farm")
        names = [
            ours.run("farm", "gateway", "--host", "0.0.0.0", "--insecure", options=named)
            for _ in range(gateways)
        ]
        joined = ("--join", ",".join(f"{name}:50050" for name in names)) if names else ()
        for _ in range(SERVERS):
            ours.run(*SERVE, *joined, options=() if names else named)
        ours.await_healthy()
        port = 50050 if gateways else 50051
        agent = Path(__file__).with_name("agent.py")
        said = docker(
            *("run", "--rm", "--network", ours.name, "--volume", f"{agent}:/agent.py:ro"),
            *(
                "--entrypoint",
                "python",
                IMAGE,
                "/agent.py",
                f"farm:{port}",
                str(ENVS),
                str(VECTORS),
            ),
        )
    assert said.splitlines()[-1] == f"{ENVS + VECTORS} of {ENVS + VECTORS}", said
