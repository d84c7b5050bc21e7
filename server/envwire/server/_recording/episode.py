"""An episode of a recording, with values decoded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from envwire.codec import Family, decode_value
from envwire.codec.steps.messages import read_step
from envwire.v1 import environment_pb2 as pb

#: An action, and what the step with it returned.
Step = tuple[Any, tuple[Any, Any, Any, Any, Any]]


def steps_of(request: pb.StepRequest, response: pb.StepResponse, family: Family) -> Iterator[Step]:
    """Yields the step of a request, or the steps of a chunk, which may stop before its end."""
    pairs = zip(request.actions, response.steps, strict=False)
    for action, step in pairs if request.actions else [(request.action, response)]:
        yield decode_value(action, family), read_step(step, family)


@dataclass
class Episode:
    """One episode: the observations are one more than the steps.

    Attributes:
        seed: What reset was given; None for nothing.
        options: What reset was given; None for nothing.
        ended: Whether it was terminated or truncated, and not left before.
        times: When each step was asked for, in seconds since the recording began.
        frames: What was rendered meanwhile.
        member: Which member of a vector environment it is of; None for a single environment.
    """

    seed: Any = None
    options: dict[str, Any] | None = None
    ended: bool = False
    observations: list[Any] = field(default_factory=list[Any])
    infos: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    actions: list[Any] = field(default_factory=list[Any])
    rewards: list[Any] = field(default_factory=list[Any])
    terminations: list[Any] = field(default_factory=list[Any])
    truncations: list[Any] = field(default_factory=list[Any])
    times: list[float] = field(default_factory=list[float])
    frames: list[Any] = field(default_factory=list[Any])
    member: int | None = None

    def add_step(self, at: float, action: Any, result: tuple[Any, Any, Any, Any, Any]) -> None:
        """Adds a step and what it returned."""
        observation, reward, terminated, truncated, info = result
        self.actions.append(action)
        self.observations.append(observation)
        self.rewards.append(reward)
        self.terminations.append(terminated)
        self.truncations.append(truncated)
        self.infos.append(info)
        self.times.append(at)
        self.ended = bool(terminated) or bool(truncated)
