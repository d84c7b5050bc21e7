"""Counts a session's episodes from the results of steps, after the reply was sent and without calling the environment.

There is one class for single environments and one for the members of a vector environment. None of their methods raises
or keeps its arguments. For clients that ask for it, the answer to a step says when the step was taken.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from envwire.envs.type_guards import is_mapping
from envwire.server._hosting.vector_hosts import is_vector
from envwire.v1 import environment_pb2 as pb
from envwire.wire.envelope import RESPONSES
from envwire.wire.frames import Packet

#: Result of a step.
Result = tuple[Any, Any, Any, Any, Any]
#: Finished episodes, each as its return and its number of steps.
Ended = Sequence[tuple[float, int]]

#: Immutable types of rewards, which can be added later.
_NUMBERS: Final = frozenset({float, int, np.float64, np.float32})
#: Largest number of rewards to keep before they are added.
_MAX_REWARDS: Final = 1023
_TRUE = b"\x01"
Rewards = list[Any] | deque[Any]


class SingleEpisodes:
    """The episodes of a single environment; with several agents, their rewards are added up.

    Attributes:
        rewards: Rewards of steps that ended no episode, to be added when `step` is called. Appending to this list is
            all that such a step costs.
    """

    def __init__(self) -> None:
        self.rewards: Rewards = []
        self._running = False
        self._total: float = 0.0
        self._length = 0

    def begin(self, members: Sequence[int] | None = None) -> None:
        """Records a reset."""
        del members
        self.rewards.clear()
        self._running, self._total, self._length = True, 0.0, 0

    def leave(self) -> None:
        """Records a jump to another state, after which the episode's return is unknown."""
        self._running = False

    def step(self, result: Result) -> Ended:
        """Records a step, and returns the episode that it ended."""
        if not self._running:
            self.rewards.clear()
            return ()
        try:
            self._total = float(sum(self.rewards, self._total)) + _number(result[1])
            self._length += len(self.rewards) + 1
            self._running = not (bool(result[2]) or bool(result[3]))
        except Exception:  # rewards and flags may be anything
            self._running = False
            return ()
        finally:
            self.rewards.clear()
        return () if self._running else ((self._total, self._length),)


def _number(reward: Any) -> float:
    return sum(map(float, reward.values())) if is_mapping(reward) else float(reward)


class MemberEpisodes:
    """The episodes of the members of a vector environment.

    A step in which no episode ends takes one array operation, whatever the number of members.

    Args:
        count: Number of members.
        mode: Autoreset mode: NEXT_STEP, SAME_STEP or DISABLED; with any other nothing is counted.
    """

    def __init__(self, count: int, mode: str) -> None:
        self.rewards: Rewards = deque(maxlen=0)  # rewards are arrays, added at once
        self._countable = mode in {"NEXT_STEP", "SAME_STEP", "DISABLED"}
        self._mode = mode
        self._totals: NDArray[np.float64] = np.zeros(count)
        self._over: NDArray[np.bool_] = np.zeros(count, np.bool_)
        self._began = [0] * count
        self._waiting: set[int] = set()  # members that are reset next
        self._now = 0
        self._running = False

    def begin(self, members: Sequence[int] | None = None) -> None:
        """Records a reset.

        Args:
            members: The members that were reset; None for all.
        """
        chosen = range(len(self._began)) if members is None else members
        self._start(chosen)
        self._waiting.difference_update(chosen)
        self._running = self._running or members is None

    def _start(self, members: Iterable[int]) -> None:
        for member in members:
            self._totals[member] = 0.0
            self._began[member] = self._now

    def leave(self) -> None:
        """Records a jump to another state."""
        self._running = False

    def step(self, result: Result) -> Ended:
        """Records a step of all members, and returns the episodes that it ended."""
        if not (self._running and self._countable):
            return ()
        try:
            self._totals += result[1]
            # Searching for a true byte takes a third of the time of an array operation.
            ended = _TRUE in result[2].tobytes() or _TRUE in result[3].tobytes()
            if ended:
                np.logical_or(result[2], result[3], out=self._over)
        except Exception:  # rewards and flags may be anything
            self._running = False
            return ()
        self._now += 1
        if self._waiting:
            self._settle()
        return self._end(np.flatnonzero(self._over).tolist()) if ended else ()

    def _settle(self) -> None:
        """Corrects the sums of members that ended before: the step was their reset, or had no effect on them."""
        self._start(self._waiting)
        for member in self._waiting:
            self._over[member] = False
        if self._mode == "NEXT_STEP":
            self._waiting.clear()

    def _end(self, ended: list[int]) -> Ended:
        episodes = [
            (float(self._totals[member]), self._now - self._began[member]) for member in ended
        ]
        if self._mode == "SAME_STEP":
            self._start(ended)
        else:
            self._waiting.update(ended)
        return episodes


def episode_count(env: Any) -> SingleEpisodes | MemberEpisodes:
    """Returns the episode count for an environment, or for the members of a vector environment."""
    if not is_vector(env):
        return SingleEpisodes()
    metadata: dict[str, Any] = env.metadata or {}
    return MemberEpisodes(env.num_envs, getattr(metadata.get("autoreset_mode"), "name", ""))


class EpisodeStatistics:
    """The results of one session's steps.

    Args:
        env: Its environment.

    Attributes:
        episodes: Counts its episodes.
    """

    def __init__(self, env: Any) -> None:
        self.episodes = episode_count(env)
        self._rewards = self.episodes.rewards
        self._taken: Result | None = None

    def add(self, taken: Result) -> None:
        """Records a step; the caller calls `flush` before the next one."""
        if (
            type(taken[1]) in _NUMBERS  # most steps: only a number to keep
            and taken[2] is False
            and taken[3] is False
            and len(self._rewards) < _MAX_REWARDS
        ):
            self._rewards.append(taken[1])
        else:
            self._taken = taken

    def flush(self) -> Ended:
        """Returns the episodes that the last step ended."""
        taken, self._taken = self._taken, None
        return () if taken is None else self.episodes.step(taken)


TIMES = "times"
"""The capability of a session that says when its steps were taken."""


def with_time(reply: Packet, begun: int) -> Packet:
    """Returns the reply to a step with its time; an error as it is.

    Args:
        reply: The reply.
        begun: When the step began, in nanoseconds of the monotonic clock.
    """
    kind, content = RESPONSES.unwrap(reply.message)
    if kind != "step":
        return reply
    taken = pb.StepTime(begun_nanoseconds=begun, ended_nanoseconds=time.monotonic_ns())
    content += pb.StepResponse(time=taken).SerializeToString()
    return Packet(RESPONSES.wrap("step", content), reply.attachments)
