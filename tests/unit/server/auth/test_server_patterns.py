"""A token's line may name the servers that it registers; half a line never names fewer bounds than the whole one."""

from __future__ import annotations

import pytest

from envwire.codec import FaultError, Reason
from envwire.server._auth.client import Client
from envwire.server._auth.scopes import Scope, ServerPatterns
from envwire.server._auth.tokens import new_token, read_tokens

BOUND = ServerPatterns(servers=("gpu-*", "main:50051"), addresses=("10.0.0.*:50051", "[fd00::1]:*"))


def test_a_line_keeps_the_patterns() -> None:
    _, line = new_token("node", [Scope.JOIN], BOUND)
    (token,) = read_tokens(line)
    assert token.servers == BOUND
    (free,) = read_tokens(new_token("node", [Scope.JOIN])[1])
    assert free.servers == ServerPatterns()


def test_a_line_that_is_half_written_is_no_token_without_bounds() -> None:
    _, line = new_token("node", [Scope.JOIN], BOUND)
    for length in range(1, len(line)):
        with pytest.raises(ValueError, match="line 1"):
            read_tokens(line[:length])


@pytest.mark.parametrize("words", ["servers=", "servers=a,,b", "hosts=a", "servers"])
def test_what_is_no_pattern_is_refused(words: str) -> None:
    name, scopes, digest = new_token("node", [Scope.JOIN])[1].split()
    with pytest.raises(ValueError, match="between scopes and digest"):
        read_tokens(f"{name} {scopes} {words} {digest}")


@pytest.mark.parametrize(
    "pattern", ["10.0.1.*", "10.*:50051", "10.0.*.*.*:1", ":1", "a:", "*:http", "*.*:1"]
)
def test_patterns_of_addresses_are_checked_when_they_are_read(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"HOST:PORT.*four numbers"):
        ServerPatterns(addresses=(pattern,))
    name, scopes, digest = new_token("node", [Scope.JOIN])[1].split()
    with pytest.raises(ValueError, match=r"line 1.*HOST:PORT"):
        read_tokens(f"{name} {scopes} addresses={pattern} {digest}")


@pytest.mark.parametrize(
    ("pattern", "address", "covered"),
    [
        ("10.0.1.*:50051", "10.0.1.7:50051", True),
        ("10.0.*.*:*", "10.0.1.7:9", True),
        ("10.0.1.*:50051", "10.0.1.evil.example:50051", False),
        ("10.0.1.*:50051", "10.0.1.evil:50051", False),
        ("10.0.1.*:50051", "10.0.1.7.evil.example:50051", False),
        ("10.0.1.*:50051", "10.0.1.7:50052", False),
        ("10.0.1.*:50051", "10.0.1.7:50051\n", False),
        ("*.*.*.*:50051", "10.0.1.7:50051", True),
        ("*.*.*.*:50051", "a.b.evil.example:50051", False),
        ("[fd00::*]:1", "[fd00::7]:1", True),
        ("[fd00::*]:1", "[fd00::7:8]:1", False),
        ("[FD00:0::7]:1", "[fd00::7]:1", True),
        ("*.cluster.example:1", "gpu.cluster.example:1", True),
        ("gpu-*.cluster.example:1", "gpu-7.cluster.example:1", True),
        ("*.cluster.example:1", "a.gpu.cluster.example:1", False),
        ("gpu-*:1", "gpu-7.evil.example:1", False),
        ("*:1", "gpu:1", True),
        ("*:1", "evil.example:1", False),
        ("*:1", "10.0.1.7:1", False),
    ],
)
def test_a_star_stands_for_a_part_of_one_label(pattern: str, address: str, covered: bool) -> None:
    refusal = ServerPatterns(addresses=(pattern,)).refusal("gpu", address)
    assert (not refusal) is covered


@pytest.mark.parametrize(
    ("server_id", "covered"),
    [("gpu-7:1", True), ("gpu-7.evil:1", False), ("gpu-7:2:1", False)],
)
def test_a_star_in_an_id_as_well(server_id: str, covered: bool) -> None:
    refusal = ServerPatterns(servers=("gpu-*:1",)).refusal(server_id, "gpu:1")
    assert (not refusal) is covered


@pytest.mark.parametrize("pattern", ["a b", "a,b", ""])
def test_a_pattern_that_the_file_cannot_hold_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"a pattern is|line 1"):
        new_token("node", [Scope.JOIN], ServerPatterns(servers=(pattern,)))


@pytest.mark.parametrize(
    ("server_id", "address", "listed"),
    [
        ("gpu-7", "10.0.0.3:50051", True),
        ("main:50051", "[fd00::1]:9", True),
        ("gpu-7", "10.0.1.3:50051", False),
        ("cpu-7", "10.0.0.3:50051", False),
        ("Gpu-7", "10.0.0.3:50051", False),
        ("gpu-7", "f:9", False),
    ],
)
def test_both_must_match(server_id: str, address: str, listed: bool) -> None:
    client = Client("token node", servers=BOUND)
    if listed:
        client.check_server(server_id, address)
        return
    with pytest.raises(FaultError, match="token node may not") as refused:
        client.check_server(server_id, address)
    assert refused.value.reason is Reason.SCOPE_MISSING
