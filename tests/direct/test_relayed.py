"""Large frames over gRPC, from real servers: equal results, in order, for sessions in any process."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest

from envwire.client import RemoteEnv
from envwire.server import Server
from envwire.testing.comparing import identical
from tests.direct.conftest import SETTINGS
from tests.direct.hosted_frames import FRAMES
from tests.direct.test_resuming import expected, play
from tests.tiers import cross

TRANSPORTS = ("stream", "unary")
STEPS = 5
#: On the link; in a message slot; apart from the message as well; too large for a slot.
SHAPES = ((100, 600), (500, 400), (900, 1000), (17, 1024, 1024))
ENVS: list[dict[str, Any]] = [
    *({"shape": shape} for shape in SHAPES),
    {"shape": (900, 1000), "chatty": True},
    {"shape": (900, 1000), "uneven": True},
]


@pytest.mark.parametrize(("transport", "kwargs"), cross(TRANSPORTS, ENVS))
def test_an_episode_is_the_same_bit_for_bit(
    direct: Server, transport: str, kwargs: dict[str, Any]
) -> None:
    env = RemoteEnv(direct.target, FRAMES, transport=transport, **kwargs)
    seen = play(env, STEPS)
    env.close()
    mine = expected(STEPS, **kwargs)
    assert len(seen) == len(mine)
    assert identical(seen, mine)


@pytest.fixture
def crowded() -> Iterator[Server]:
    """A server with all its sessions in one process."""
    with Server([FRAMES], sessions_per_process=4, **SETTINGS) as server:
        yield server


def test_neighbours_in_one_process_get_their_own_frames(crowded: Server) -> None:
    cases = list(product(TRANSPORTS, [(500, 400), (900, 1000)]))
    envs = [
        RemoteEnv(crowded.target, FRAMES, transport=transport, shape=shape)
        for transport, shape in cases
    ]
    results: list[list[Any]] = [[np.array(env.reset(seed=5)[0])] for env in envs]
    for step in range(STEPS):
        for env, seen in zip(envs, results, strict=True):
            seen.append(env.step(step % 4))
    for (_, shape), seen, env in zip(cases, results, envs, strict=True):
        assert identical(seen, expected(STEPS, shape=shape))
        env.close()


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_what_arrived_is_the_clients_own(direct: Server, transport: str) -> None:
    env = RemoteEnv(direct.target, FRAMES, transport=transport, shape=(900, 1000))
    first, _ = env.reset(seed=5)
    kept = first.copy()
    second = env.step(0)[0]
    second[:] = 7
    assert identical(first, kept)
    assert first.flags.writeable
    assert first.flags.aligned
    assert not np.shares_memory(first, second)
    env.close()
