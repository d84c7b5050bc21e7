"""Options of connections: seconds that cannot be waited for."""

from __future__ import annotations

from math import inf, nan
from typing import Any

import numpy as np
import pytest

from envwire.client import RemoteEnv
from envwire.client.options import ConnectionOptions
from envwire.server import Server

SECONDS = pytest.mark.parametrize("name", ["timeout", "connect_timeout", "lease"])


@SECONDS
@pytest.mark.parametrize("value", ["3", nan, -1, -inf])
def test_what_is_no_number_of_seconds_is_named(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"{name}={value!r} is not a number of seconds"):
        RemoteEnv("localhost:1", "CartPole-v1", **{name: value})


@SECONDS
@pytest.mark.parametrize("value", [None, 0, 2, 0.5, np.float32(0.5), np.int64(3)])
def test_seconds_stay_as_they_are(name: str, value: Any) -> None:
    assert ConnectionOptions(**{name: value}).keywords[name] is value


@pytest.mark.parametrize("transport", ["direct", "stream", "unary"])
def test_seconds_without_an_end_are_many(transport: str) -> None:
    with Server(["CartPole-v1"]) as server:
        seconds: dict[str, Any] = {"timeout": inf, "connect_timeout": inf, "lease": inf}
        env = RemoteEnv(server.target, "CartPole-v1", transport=transport, **seconds)
        env.reset(seed=1)
        env.close()
