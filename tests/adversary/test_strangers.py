"""A peer without a token costs the server almost nothing."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack

import grpc
import pytest

from tests.adversary.ledger import balanced, peak_within
from tests.adversary.servers import Target, attacked
from tests.adversary.tokens import Tokens

SLEEPER = "adversary/Sleeper-v0"
#: A connection before authentication, and what the server needs anyway.
OF_A_CONNECTION, OF_THE_SERVER = 2**20, 16 * 2**20
FLOODS = [
    pytest.param(4, 32 * 2**20, id="4 of 32 MiB"),
    pytest.param(8, 240 * 2**20, id="8 of 240 MiB", marks=pytest.mark.long),
]


@pytest.fixture
def target() -> Iterator[Target]:
    with (
        Tokens("alice") as tokens,
        attacked(SLEEPER, tokens=tokens, lease=60.0) as target,
    ):
        yield target


@pytest.mark.parametrize(("calls", "size"), FLOODS)
@pytest.mark.parametrize("compression", [grpc.Compression.Gzip, grpc.Compression.NoCompression])
def test_messages_of_strangers_are_refused_before_they_are_read(
    target: Target, calls: int, size: int, compression: grpc.Compression
) -> None:
    flood = bytes(size)
    with (
        balanced(target),
        peak_within(target, OF_THE_SERVER + calls * OF_A_CONNECTION),
        ExitStack() as stack,
    ):
        strangers = [
            stack.enter_context(target.attacker(compression=compression)) for _ in range(calls)
        ]
        sent = [stranger.begin("Make", flood) for stranger in strangers]
        assert strangers[0].healthy()
        assert "answered" not in {call.verdict() for call in sent}


def test_calls_on_one_connection_cost_what_a_connection_may(target: Target) -> None:
    with balanced(target), peak_within(target, OF_THE_SERVER), target.attacker() as stranger:
        sent = [stranger.begin("Make", bytes(2**22)) for _ in range(200)]
        assert "answered" not in {call.verdict() for call in sent}


@pytest.mark.parametrize("compression", [grpc.Compression.Gzip, grpc.Compression.NoCompression])
def test_health_is_told_without_reading_what_is_asked(
    target: Target, compression: grpc.Compression
) -> None:
    with (
        balanced(target),
        peak_within(target, OF_THE_SERVER + OF_A_CONNECTION),
        target.attacker(compression=compression) as stranger,
    ):
        assert stranger.healthy(flood=bytes(2**26))


def test_connections_that_say_nothing_cost_little(target: Target) -> None:
    host, _, port = target.address.rpartition(":")
    connections = 100
    with peak_within(target, OF_THE_SERVER + connections * OF_A_CONNECTION), ExitStack() as stack:
        for _ in range(connections):
            stack.enter_context(socket.create_connection((host, int(port)), timeout=10.0))
        with target.attacker() as visitor:
            assert visitor.healthy()
