"""Environments that cannot be offered are closed."""

from __future__ import annotations

from typing import Any

import pytest

import envwire.envs as gym
from envwire.codec import FaultError, Reason, envwire_family
from envwire.envs import spaces
from envwire.server._hosting.environment_making import describe


class Unknown(spaces.Space[Any]):
    """A space of a kind that has no wire form."""


class Undescribed(gym.Env[Any, Any]):
    """An environment whose observations no client can be told about."""

    observation_space, action_space = Unknown(), spaces.Discrete(2)
    closed = False

    def close(self) -> None:
        self.closed = True
        raise OSError("a simulator that does not answer")


def test_an_environment_that_cannot_be_described_is_closed() -> None:
    env = Undescribed()
    with pytest.raises(FaultError) as refused:
        describe(env, envwire_family())
    assert refused.value.reason is Reason.UNSUPPORTED
    assert env.closed
