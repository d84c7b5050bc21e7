"""An episode of a recording, with values decoded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from envwire.codec import Family, decode_value
from envwire.codec.steps import read_step
from envwire.v1 import environment_pb2 as pb

#: An action and the result of its step.
Step = tuple[Any, tuple[Any, Any, Any, Any, Any]]


def steps_of(request: pb.StepRequest, response: pb.StepResponse, family: Family) -> Iterator[Step]:
    """Yields the step of a request, or the steps of a chunk, which may stop before its end."""
    pairs = zip(request.actions, response.steps, strict=False)
    for action, step in pairs if request.actions else [(request.action, response)]:
        yield decode_value(action, family), read_step(step, family)


@dataclass
class Episode:
    """One episode, with one observation more than steps.

    Attributes:
        seed: Seed of the reset, or None.
        options: Options of the reset, or None.
        ended: Whether it was terminated or truncated, instead of abandoned.
        times: When each step was requested, in seconds since the recording began.
        frames: Frames rendered during the episode.
        member: Index of the vector environment's member; None for a single environment.
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
        """Adds a step and its result."""
        observation, reward, terminated, truncated, info = result
        self.actions.append(action)
        self.observations.append(observation)
        self.rewards.append(reward)
        self.terminations.append(terminated)
        self.truncations.append(truncated)
        self.infos.append(info)
        self.times.append(at)
        self.ended = bool(terminated) or bool(truncated)
