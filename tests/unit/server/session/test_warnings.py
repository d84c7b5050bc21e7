"""A client gets its environment's warnings with the answer or the error, but none of the server's own."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import envwire.envs as gym
from envwire.codec import decode_fault, envwire_family
from envwire.codec.fastpath.step_codec import step_codec
from envwire.server._session.hosted_env import WarningLog, WarningRecorder
from envwire.server._session.session import Session
from envwire.v1 import environment_pb2 as pb


class Space(gym.spaces.Discrete):
    """Warns of each action that it is asked about."""

    def contains(self, x: Any) -> bool:
        warnings.warn("asked", stacklevel=1)
        return super().contains(x)


class Rewarding(gym.Env[int, Any]):
    """Returns its action as the reward; raises for a negative one."""

    def __init__(self) -> None:
        self.observation_space, self.action_space = gym.spaces.Discrete(1), Space(3)

    def reset(self, **_: Any) -> tuple[int, dict[str, Any]]:
        return 0, {}

    def step(self, action: Any) -> tuple[int, Any, bool, bool, dict[str, Any]]:
        warnings.warn("stepped", stacklevel=1)
        if action is None:
            raise ValueError("no action")
        return 0, action, False, False, {}


def warned(answer: pb.InteractResponse) -> list[str]:
    if answer.HasField("error"):
        return [text for _, text in decode_fault(answer.error, envwire_family()).warnings]
    return [each.text for each in answer.step.warnings]


INFINITE = [np.float64("inf"), np.float64("-inf"), np.array(1.0)]


@pytest.mark.parametrize(
    "rewards",
    [[None], INFINITE, [np.complex64(1j)], [np.ones(1)]],
    ids=["it raises", "infinities", "complex", "an array"],
)
def test_only_the_environment_is_heard(rewards: list[Any]) -> None:
    recorder = WarningRecorder()
    recorder.log = WarningLog()
    session = Session(Rewarding(), envwire_family(), recorder.log)
    session.count_episodes()
    ask = step_codec(envwire_family()).encode_request
    with recorder.installed():
        session.handle(pb.InteractRequest(reset=pb.ResetRequest(sequence=1)).SerializeToString())
        session.count()
        for sequence, reward in enumerate((*rewards, 1.0, 1.0), 2):
            raw = session.handle(ask(sequence, reward)).message
            session.count()
            answer = pb.InteractResponse.FromString(raw)
            assert warned(answer) == ["stepped"]
        assert recorder.log.given == [], "of counting the last step"
