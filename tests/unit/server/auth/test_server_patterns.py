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
