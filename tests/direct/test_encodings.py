"""Arrays that are compressed on their way over TCP: the same elements, over every transport and after every cut."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import numpy as np
import pytest

from envwire.client import RemoteEnv, aio
from envwire.client._transports.direct.encodings import offer_encodings
from envwire.server import Server
from envwire.testing.comparing import identical
from envwire.v1 import direct_pb2
from envwire.wire.encodings import LIBRARIES, zstandard
from tests.direct.conftest import SETTINGS
from tests.direct.hosted_frames import FRAMES
from tests.direct.relay import Cut
from tests.direct.test_steps_ahead import ACTIONS, _soon, copied, expected, relayed

__all__ = ["_soon", "relayed"]

pytestmark = pytest.mark.skipif(zstandard() is None, reason="needs a library of Zstandard")
STILL = {"shape": (60, 80, 3), "still": True}
KINDS: list[dict[str, Any]] = [STILL, {**STILL, "uneven": True}, {**STILL, "chatty": True}]


def steps(env: RemoteEnv, actions: list[int] = ACTIONS) -> list[Any]:
    env.reset(seed=5)
    return [copied(env.step(action)) for action in actions]


@pytest.mark.parametrize("kwargs", [*KINDS, {"shape": (100, 100)}, {}])
def test_the_arrays_are_the_same(direct: Server, kwargs: dict[str, Any]) -> None:
    settings = {"transport": "direct-tcp", "compression": "zstd"}
    with RemoteEnv(direct.target, FRAMES, **settings, **kwargs) as env:
        assert identical(steps(env), expected(ACTIONS, **kwargs))
        results = list(env.step_ahead(ACTIONS))
        assert len(results) == len(ACTIONS)


@pytest.mark.parametrize("compression", ["zstd", "off"])
def test_fewer_bytes_are_sent(relayed: Any, compression: str) -> None:
    env, relay = relayed(compression=compression, **STILL)
    assert identical(steps(env), expected(ACTIONS, **STILL))
    raw = len(ACTIONS) * 60 * 80 * 3
    assert relay.passed[False] < raw / 3 if compression == "zstd" else relay.passed[False] > raw


def test_arrays_of_a_program_may_change(direct: Server) -> None:
    """What an array is compared with is not the array that the program has."""
    settings = {"transport": "direct-tcp", "compression": "zstd"}
    with RemoteEnv(direct.target, FRAMES, **settings, **STILL) as env:
        env.reset(seed=5)
        for action, (wanted, *_) in zip(ACTIONS, expected(ACTIONS, **STILL), strict=True):
            observation = env.step(action)[0]
            assert np.array_equal(observation, wanted)
            observation[...] = 7


@pytest.mark.parametrize("seed", range(3))
def test_connections_are_cut_anywhere(relayed: Any, seed: int) -> None:
    """A new channel begins with an array that needs no other."""
    rng = random.Random(seed)
    cuts = [Cut(False, rng.randint(100, 20_000)) for _ in range(12)]
    env, relay = relayed(*cuts, compression="zstd", **STILL)
    assert identical(steps(env), expected(ACTIONS, **STILL))
    assert relay.taken > 3


def test_the_asyncio_class_reads_them(direct: Server) -> None:
    async def main() -> list[Any]:
        settings = {"transport": "direct-tcp", "compression": "zstd"}
        async with aio.RemoteEnv(direct.target, FRAMES, **settings, **STILL) as env:
            await env.reset(seed=5)
            return [copied(await env.step(action)) for action in ACTIONS]

    assert identical(asyncio.run(main()), expected(ACTIONS, **STILL))


@pytest.mark.parametrize("compression", ["auto", "off"])
def test_nothing_is_offered_on_one_machine(direct: Server, compression: str) -> None:
    with RemoteEnv(
        direct.target, FRAMES, transport="direct-tcp", compression=compression, **STILL
    ) as env:
        channel = env._handle.driver.transport._channel
        assert channel._decoder is None
        hello = direct_pb2.HelloRequest()
        offer_encodings(hello, compression, channel.connection)
        assert not hello.encodings


@pytest.mark.slow
def test_a_server_can_refuse_to_compress() -> None:
    with (
        Server(["CartPole-v1"], compression="off") as server,
        RemoteEnv(server.target, "CartPole-v1", transport="direct-tcp", compression="zstd") as env,
    ):
        env.reset(seed=5)
        assert env._handle.driver.transport._channel._decoder is None


def test_another_word_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown compression='gzip'; choose one of auto, zstd"):
        RemoteEnv("localhost:1", "CartPole-v1", compression="gzip")


OPEN = {"host": "0.0.0.0", "insecure": True, "allow_methods": ["imported"]}


@pytest.mark.parametrize(
    ("settings", "imports"),
    [
        (OPEN, True),
        (OPEN | {"compression": "off"}, False),
        ({}, False),
    ],
)
def test_sessions_for_other_machines_find_the_library_imported(
    settings: dict[str, Any], imports: bool
) -> None:
    """It took longer than all else of a new channel."""
    with (
        Server(["direct/*"], **SETTINGS, **settings) as server,
        RemoteEnv(server.target, FRAMES, transport="stream") as env,
    ):
        assert set(env.get_wrapper_attr("imported")()).isdisjoint(LIBRARIES) is not imports
