"""`envwire top` shows a farm's servers and a server's sessions."""

from __future__ import annotations

import subprocess

from envwire.client import RemoteEnv
from envwire.server import Server
from tests.commands import Done, envwire, start
from tests.farm.scene import ENV, farm


def shown(target: str) -> Done:
    return envwire("top", target, "--count", "2", "--every", "0.1")


def test_a_farms_servers_and_a_servers_sessions() -> None:
    with farm(2, max_sessions=3) as (gateway, servers):
        env = RemoteEnv(servers[0].target, ENV)
        of_farm = shown(gateway.target)
        assert of_farm.returncode == 0, of_farm.stderr
        assert all(each.target in of_farm.stdout for each in servers)
        assert "of 6 sessions in use" in of_farm.stdout
        of_server = shown(servers[0].target)
        assert of_server.returncode == 0, of_server.stderr
        assert ENV in of_server.stdout
        assert "1 session " in of_server.stdout
        env.close()


def test_nothing_there_ends_it_with_a_sentence() -> None:
    nobody = shown("127.0.0.1:1")
    assert nobody.returncode == 1
    assert nobody.stderr.startswith("envwire top: ")


def test_a_closed_output_ends_it() -> None:
    with (
        Server(["CartPole-v1"]) as server,
        start("top", server.target, "--every", "0.1", stderr=subprocess.PIPE) as top,
    ):
        assert top.stdout is not None
        assert top.stderr is not None
        try:
            assert top.stdout.readline()
            top.stdout.close()
            assert (top.wait(60), top.stderr.read()) == (1, "")
        finally:
            top.kill()
