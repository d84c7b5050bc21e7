"""The sessions that are frozen at a release; each function returns the results of its client."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from envwire.client import RemoteEnv, RemoteVectorEnv


def episode(env: Any) -> list[Any]:
    """Drives CartPole to the end of an episode, and into the next."""
    seen: list[Any] = [env.reset(seed=7)]
    ended = False
    while not ended:
        seen.append(env.step(int(seen[-1][0][2] > 0)))
        ended = seen[-1][2] or seen[-1][3]
    return [*seen, env.reset()]


VALUES = (
    None,
    True,
    -3,
    2**70,
    0.5,
    1 + 2j,
    "text",
    b"\x00\xff",
    [1, "a"],
    (2,),
    {"a": 1, 7: None},
    np.arange(6, dtype=np.float32).reshape(2, 3),
    np.float32(1.5),
    np.zeros((0, 3)),
)


def echoes(env: Any) -> list[Any]:
    """Sends values of many kinds, which come back."""
    seen: list[Any] = [env.reset(seed=1, options={"b": (1, 2.5), "a": np.int8(3)})]
    seen += [env.step(value) for value in VALUES]
    return [*seen, env.step({"echo": 1, "reward": 7, "terminated": np.True_, "info": {"k": 1}})]


def counts(env: Any) -> list[Any]:
    """Uses what there is besides steps: frames, attributes, methods, the shared generator, errors."""
    seen: list[Any] = [env.reset(seed=3), env.step(1), env.render()]
    seen += [env.get_wrapper_attr("add")(3), env.get_wrapper_attr("steps")]
    try:
        env.step(7)
    except ValueError as error:
        seen.append(error.args[0])
    seen += [env.np_random.random(), env.step(0), env.reset(), env.np_random.random()]
    return seen


def vector(envs: Any) -> list[Any]:
    """Steps three members, which end and are reset at different times."""
    seen: list[Any] = [envs.reset(seed=5)]
    return seen + [envs.step(np.array([0, 1, step % 2])) for step in range(40)]


@dataclass(frozen=True)
class Session:
    """A session: how its client makes the environment, and its further requests."""

    make: Callable[..., Any]
    drive: Callable[[Any], list[Any]]


def _single(env_id: str, **kwargs: Any) -> Callable[..., Any]:
    return lambda target, transport: RemoteEnv(target, env_id, transport=transport, **kwargs)


SESSIONS = {
    "episode": Session(_single("CartPole-v1"), episode),
    "echoes": Session(_single("Conformance/Echo-v0"), echoes),
    "counts": Session(_single("Conformance/Counter-v0", render_mode="ansi", length=5), counts),
    "vector": Session(
        lambda target, transport: RemoteVectorEnv(target, "CartPole-v1", 3, transport=transport),
        vector,
    ),
}


def drive(name: str, target: str, transport: str) -> list[Any]:
    """Drives a session, and returns the client's results."""
    session = SESSIONS[name]
    env = session.make(target, transport)
    try:
        return session.drive(env)
    finally:
        env.close()
