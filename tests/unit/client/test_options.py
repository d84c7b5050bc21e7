"""Options of connections: seconds that cannot be waited for, and values of wrong types."""

from __future__ import annotations

from math import inf, nan
from typing import Any

import numpy as np
import pytest

from envwire.client import RemoteEnv, RemoteVectorEnv, aio
from envwire.client._vector.layout import lay_out
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


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("render_mode", 3, "render_mode=3 is not a string"),
        ("library", 3, "library=3 is not a string"),
        ("env_kwargs", 3, "env_kwargs=3 is not a mapping"),
        ("credentials", "secret", "credentials= is a str; pass Credentials"),
        ("transport", 3, "transport= is a int; pass a name, or an instance of a subclass"),
        ("replay_limit", "3", "replay_limit='3' is not a number"),
    ],
)
def test_a_value_of_the_wrong_type_is_named_by_every_proxy(
    name: str, value: Any, says: str
) -> None:
    for proxy in (RemoteEnv, RemoteVectorEnv, aio.RemoteEnv, aio.RemoteVectorEnv):
        with pytest.raises(TypeError, match=says):
            proxy("localhost:1", "CartPole-v1", **{name: value})


@pytest.mark.parametrize("value", [-1, float("nan")])
def test_a_limit_of_requests_that_is_none_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=f"replay_limit={value!r} is not a number of requests"):
        ConnectionOptions(replay_limit=value)


@pytest.mark.parametrize("name", ["num_envs", "sessions", "batch_size"])
@pytest.mark.parametrize("value", ["3", 2.5])
def test_a_number_of_environments_that_is_no_integer_is_named(name: str, value: Any) -> None:
    with pytest.raises(TypeError, match=f"{name}={value!r} is not an integer"):
        lay_out(**{"num_envs": 4, "sessions": 1, "batch_size": 4, name: value}, capacities=[])


@pytest.mark.parametrize("transport", ["direct", "stream", "unary"])
def test_seconds_without_an_end_are_many(server: Server, transport: str) -> None:
    seconds: dict[str, Any] = {"timeout": inf, "connect_timeout": inf, "lease": inf}
    env = RemoteEnv(server.target, "CartPole-v1", transport=transport, **seconds)
    env.reset(seed=1)
    env.close()
