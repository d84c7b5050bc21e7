"""The episodes in a recording, with values decoded, for data sets, tables and films."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from envwire.codec import CodecError, Family, decode_mapping, decode_space, decode_value
from envwire.codec.steps import read_step
from envwire.server._recording.files import Exchange, RecordedSession, RecordingError
from envwire.v1 import environment_pb2 as pb

#: An action and the result of its step.
Step = tuple[Any, tuple[Any, Any, Any, Any, Any]]
#: Requests that leave the current episode. After a return to a saved state the next episode begins with a reset.
_LEAVING = frozenset({"reset", "restore_state"})
_NEXT_STEP, _SAME_STEP, _DISABLED = "NEXT_STEP", "SAME_STEP", "DISABLED"
_MASK, _FINAL = "reset_mask", "final_obs"
#: Requests that change the members' state; after a failed one their state is unknown.
_MOVING = frozenset({"reset", "step", "restore_state"})


@dataclass
class RecordedEpisode:
    """One episode, with one observation more than steps.

    Attributes:
        seed: Seed of the reset, or None.
        options: Options of the reset, or None.
        ended: Whether it was terminated or truncated, instead of abandoned.
        times: When each step was requested, in seconds since the recording began.
        member: Index of the vector environment's member; None for a single environment.
    """

    seed: Any = None
    options: dict[str, Any] | None = None
    ended: bool = False
    observations: list[Any] = field(default_factory=list[Any])
    actions: list[Any] = field(default_factory=list[Any])
    rewards: list[Any] = field(default_factory=list[Any])
    terminations: list[Any] = field(default_factory=list[Any])
    truncations: list[Any] = field(default_factory=list[Any])
    times: list[float] = field(default_factory=list[float])
    member: int | None = None

    def add_step(self, at: float, action: Any, result: tuple[Any, Any, Any, Any, Any]) -> None:
        """Adds a step and its result."""
        observation, reward, terminated, truncated, _ = result
        self.actions.append(action)
        self.observations.append(observation)
        self.rewards.append(reward)
        self.terminations.append(terminated)
        self.truncations.append(truncated)
        self.times.append(at)
        self.ended = bool(terminated) or bool(truncated)


def episodes(recording: RecordedSession, family: Family) -> Iterator[RecordedEpisode]:
    """Yields the episodes of a recording, including abandoned ones.

    Failed steps, and steps before the first reset or after an episode's end, belong to no episode.

    Args:
        recording: The recording. Each member of a vector environment has its own episodes.
        family: Classes to decode to.

    Raises:
        RecordingError: A value is damaged or does not fit its space, or the recording does not say where the episodes
            of a vector environment's members begin.
    """
    with recording.decoding():
        if recording.header.made.HasField("vector"):
            with _fitting(recording):
                yield from _member_episodes(recording, family)
        else:
            yield from _single_episodes(recording, family)


def _single_episodes(recording: RecordedSession, family: Family) -> Iterator[RecordedEpisode]:
    episode: RecordedEpisode | None = None
    for exchange in recording.exchanges():
        answer = exchange.response
        if answer is None or answer.HasField("error"):
            continue
        if exchange.kind in _LEAVING and episode is not None:
            yield episode
            episode = None
        if exchange.kind == "reset":
            episode = _begun(exchange.request.reset, answer.reset, family)
        elif exchange.kind == "step" and episode is not None and not episode.ended:
            for step in _steps_of(exchange.request.step, answer.step, family):
                episode.add_step(exchange.at, *step)
    if episode is not None:
        yield episode


@contextmanager
def _fitting(recording: RecordedSession) -> Generator[None]:
    """Context in which values are taken apart as their spaces say; raises RecordingError where that fails."""
    try:
        yield
    except CodecError:
        raise
    except (LookupError, TypeError, ValueError) as error:
        raise RecordingError(
            f"{recording.path} is damaged: its values do not fit its spaces; leave this recording out"
        ) from error


def _begun(request: pb.ResetRequest, response: pb.ResetResponse, family: Family) -> RecordedEpisode:
    return RecordedEpisode(
        seed=decode_value(request.seed, family) if request.HasField("seed") else None,
        options=decode_mapping(request.options, family) if request.HasField("options") else None,
        observations=[decode_value(response.observation, family)],
    )


def _steps_of(request: pb.StepRequest, response: pb.StepResponse, family: Family) -> Iterator[Step]:
    """Yields the step of a request, or the steps of a chunk, which may stop before its end."""
    pairs = zip(request.actions, response.steps, strict=False)
    for action, step in pairs if request.actions else [(request.action, response)]:
        yield decode_value(action, family), read_step(step, family)


def _member_episodes(recording: RecordedSession, family: Family) -> Iterator[RecordedEpisode]:
    """Yields the episodes of all members as they end, then the unfinished ones.

    Raises:
        RecordingError: The recording does not say where they begin.
    """
    members = _Members(recording, family)
    for exchange in recording.exchanges():
        answer = exchange.response
        if exchange.kind == "replay" and exchange.request.replay.member_starts:
            raise RecordingError(
                f"{recording.path} is of a vector environment that was recovered: what its members did before is in "
                "the recording of the session that was lost"
            )
        if exchange.kind not in _MOVING:
            continue
        if answer is None or answer.HasField("error") or exchange.kind == "restore_state":
            yield from members.leave()
        elif exchange.kind == "reset":
            yield from members.reset(exchange.request.reset, answer.reset)
        else:
            yield from members.step(exchange, answer.step)
    yield from members.leave()


class _Members:
    """The current episode of each member.

    Args:
        recording: Recording of a vector environment.
        family: Classes to decode to.

    Raises:
        RecordingError: The recording does not say when members are reset.
    """

    def __init__(self, recording: RecordedSession, family: Family) -> None:
        made = recording.header.made
        self._family = family
        self._count: int = made.vector.num_envs
        self._mode: str = made.vector.autoreset_mode
        if self._mode not in {_NEXT_STEP, _SAME_STEP, _DISABLED}:
            raise RecordingError(
                f"{recording.path} is of a vector environment that does not say when its members are reset"
            )
        self._observations = decode_space(made.observation_space, family)
        self._actions = decode_space(made.action_space, family)
        self._episodes: list[RecordedEpisode | None] = [None] * self._count
        self._ended = [False] * self._count

    def leave(self) -> Iterator[RecordedEpisode]:
        """Yields the current episodes; the next ones begin with a reset."""
        for member, episode in enumerate(self._episodes):
            self._episodes[member], self._ended[member] = None, False
            if episode is not None:
                yield episode

    def reset(
        self, request: pb.ResetRequest, response: pb.ResetResponse
    ) -> Iterator[RecordedEpisode]:
        """Begins an episode in each member, or in those that a mask selects; yields the abandoned ones."""
        seed = decode_value(request.seed, self._family) if request.HasField("seed") else None
        seeds = _seeds(seed, self._count)
        options: dict[str, Any] = decode_mapping(request.options, self._family)
        chosen: Any = options.pop(_MASK, np.ones(self._count, np.bool_))
        own: list[Any] = [decode_mapping(each, self._family) for each in request.member_options]
        own = own or [options] * self._count
        rows = self._rows(decode_value(response.observation, self._family))
        for member in map(int, np.flatnonzero(chosen)):
            left = self._episodes[member]
            if left is not None:
                yield left
            self._begin(member, rows[member], seeds[member], own[member])

    def _begin(
        self, member: int, first: Any, seed: Any = None, options: Mapping[Any, Any] | None = None
    ) -> None:
        self._ended[member] = False
        self._episodes[member] = RecordedEpisode(
            seed=seed, options=dict(options or {}) or None, observations=[first], member=member
        )

    def step(self, exchange: Exchange, answer: pb.StepResponse) -> Iterator[RecordedEpisode]:
        """Applies a step or a chunk of steps; yields the episodes that it ended."""
        for actions, result in _steps_of(exchange.request.step, answer, self._family):
            taken = list(self._family.vector.utils.iterate(self._actions, actions))
            yield from self._take(exchange.at, taken, result)

    def _take(
        self, at: float, actions: Sequence[Any], result: tuple[Any, Any, Any, Any, Any]
    ) -> Iterator[RecordedEpisode]:
        observation, rewards, terminations, truncations, infos = result
        rows = self._rows(observation)
        for member, episode in enumerate(self._episodes):
            if self._ended[member] and self._mode == _NEXT_STEP:
                self._begin(member, rows[member])  # the action was ignored
                continue
            over = self._ended[member] = bool(terminations[member] or truncations[member])
            last = rows[member]
            if over and self._mode == _SAME_STEP:
                last = infos[_FINAL][member]
                self._begin(member, rows[member])
            elif over:
                self._episodes[member] = None
            if episode is not None:
                told = (rewards[member], terminations[member], truncations[member])
                episode.add_step(at, actions[member], (last, *map(_plain, told), {}))
                if over:
                    yield episode

    def _rows(self, observation: Any) -> list[Any]:
        return list(self._family.vector.utils.iterate(self._observations, observation))


def _seeds(seed: Any, count: int) -> list[Any]:
    """Returns one seed per member."""
    if seed is None:
        return [None] * count
    return [seed + member for member in range(count)] if isinstance(seed, int) else list(seed)


def _plain(value: Any) -> Any:
    """Converts an array's element to the number that a single environment would return."""
    return value.item() if hasattr(value, "item") else value
