"""The episodes in a recording, with values decoded: what a data set, a table or a film is made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from envwire.codec import Family, decode_mapping, decode_value
from envwire.codec.steps.messages import read_step
from envwire.server._recording.reader import Exchange, RecordedSession, RecordingError
from envwire.v1 import environment_pb2 as pb

#: Ends an episode, whether or not it had ended; after a return to a saved state the next begins with a reset.
_LEAVING = frozenset({"reset", "restore_state"})


@dataclass
class Episode:
    """One episode: the observations are one more than the steps.

    Attributes:
        seed: What reset was given; None for nothing.
        options: What reset was given; None for nothing.
        ended: Whether it was terminated or truncated, and not left before.
        times: When each step was asked for, in seconds since the recording began.
        frames: What was rendered meanwhile.
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

    def add_step(self, action: Any, step: pb.StepResponse, at: float, family: Family) -> None:
        """Adds a step."""
        observation, reward, terminated, truncated, info = read_step(step, family)
        self.actions.append(action)
        self.observations.append(observation)
        self.rewards.append(reward)
        self.terminations.append(terminated)
        self.truncations.append(truncated)
        self.infos.append(info)
        self.times.append(at)
        self.ended = bool(terminated) or bool(truncated)


def episodes(recording: RecordedSession, family: Family) -> Iterator[Episode]:
    """Yields the episodes of a recording, also those that were left before they ended.

    Steps that failed, and steps before the first reset or after an end, belong to none.

    Args:
        recording: That of a single environment.
        family: Classes to decode to.

    Raises:
        RecordingError: It is of a vector environment, whose members have episodes of their own.
    """
    if recording.header.made.HasField("vector"):
        raise RecordingError(
            f"{recording.path} is of a vector environment: export takes recordings of single environments"
        )
    episode: Episode | None = None
    for exchange in recording.exchanges():
        answer = exchange.response
        if answer is None or answer.HasField("error"):
            continue
        if exchange.kind in _LEAVING and episode is not None:
            yield episode
            episode = None
        if exchange.kind == "reset":
            episode = _begun(exchange.request.reset, answer.reset, family)
        elif episode is not None:
            _go_on(episode, exchange, answer, family)
    if episode is not None:
        yield episode


def _begun(request: pb.ResetRequest, response: pb.ResetResponse, family: Family) -> Episode:
    episode = Episode()
    if request.HasField("seed"):
        episode.seed = decode_value(request.seed, family)
    if request.HasField("options"):
        episode.options = decode_mapping(request.options, family)
    episode.observations.append(decode_value(response.observation, family))
    episode.infos.append(decode_mapping(response.info, family))
    return episode


def _go_on(
    episode: Episode, exchange: Exchange, answer: pb.InteractResponse, family: Family
) -> None:
    if exchange.kind == "render":
        episode.frames.append(decode_value(answer.render.frame, family))
    elif exchange.kind == "step" and not episode.ended:
        asked = exchange.request.step
        actions, steps = (
            (asked.actions, answer.step.steps) if asked.actions else ([asked.action], [answer.step])
        )
        for action, step in zip(actions, steps, strict=False):  # a chunk may stop before its end
            episode.add_step(decode_value(action, family), step, exchange.at, family)
