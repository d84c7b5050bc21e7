"""HOST:PORT of servers: nothing that gRPC, or a resolver, would read as something else."""

from __future__ import annotations

import pytest

from envwire.wire.addresses import Address, parse_address


@pytest.mark.parametrize(
    ("text", "host", "is_ip"),
    [
        ("127.0.0.1:50051", "127.0.0.1", True),
        ("[::1]:50051", "[::1]", True),
        ("[FD00:0::1]:50051", "[fd00::1]", True),
        ("localhost:50051", "localhost", False),
        ("gpu_7-a.cluster.example:50051", "gpu_7-a.cluster.example", False),
    ],
)
def test_hosts(text: str, host: str, is_ip: bool) -> None:
    assert parse_address(text) == Address(host, "50051", is_ip)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "host",
        ":1",
        "host:",
        "host:0",
        "host:65536",
        "host:+1",
        "host:1\n",
        "host\n:1",
        "host:\u0661",
        "unix:///tmp/socket",
        "unix:///tmp/socket:1",
        "unix:1",  # a socket named 1
        "unix-abstract:1",
        "dns:1",
        "ipv4:10.0.0.1:1",
        "xds:1",
        "dns:///host:1",
        "dns://resolver/host:1",
        "http://host:1",
        "host/path:1",
        "user@host:1",
        "one:1,two:1",
        "10.1:1",  # 10.0.0.1 to resolvers
        "167772161:1",
        "0x0a000001:1",
        "10.0.0.0x1:1",
        "010.0.0.1:1",
        "host.7:1",
        "::1:1",
        "[fe80::1%eth0]:1",
        "[host]:1",
        "-host:1",
        "host..example:1",
        "h\u00f6st:1",
        f"{'a.' * 127}a:1",
    ],
)
def test_anything_else_is_no_address(text: str) -> None:
    assert parse_address(text) is None
