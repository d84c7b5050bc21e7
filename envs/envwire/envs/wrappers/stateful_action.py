"""Wrappers that change an action depending on earlier actions."""

from __future__ import annotations

from typing import Any, SupportsFloat, cast

from envwire.envs._env import ActType, Info, ObsType, Options
from envwire.envs.core import ActionWrapper, Env, Wrapper
from envwire.envs.error import InvalidBound
from envwire.envs.type_guards import is_tuple
from envwire.envs.utils.record_constructor import RecordConstructorArgs
from envwire.envs.wrappers.utils import require_at_least, require_probability

__all__ = ["RepeatAction", "StickyAction"]


class StickyAction(ActionWrapper[ObsType, ActType, ActType], RecordConstructorArgs):
    """At random ignores the action and repeats the last one, for one or several steps.

    The draws come from the wrapped environment's `np_random`.

    Args:
        env: The environment to wrap.
        repeat_action_probability: The probability that a repetition begins, in [0, 1).
        repeat_action_duration: How many steps it lasts, or the least and most of a uniform draw.

    Raises:
        InvalidProbability: The probability is not in [0, 1).
        InvalidBound: The least duration exceeds the most.
        ValueError: The duration is neither an int nor a pair, or below 1.
    """

    def __init__(
        self,
        env: Env[ObsType, ActType],
        repeat_action_probability: float,
        repeat_action_duration: int | tuple[int, int] = 1,
    ) -> None:
        require_probability("repeat_action_probability", repeat_action_probability)
        self.repeat_action_duration_range = _duration_range(repeat_action_duration)
        RecordConstructorArgs.__init__(
            self,
            repeat_action_probability=repeat_action_probability,
            repeat_action_duration=repeat_action_duration,
        )
        Wrapper.__init__(self, env)
        self.repeat_action_probability = repeat_action_probability
        self.last_action: ActType | None = None
        self._stop_repeating()

    def _stop_repeating(self) -> None:
        self.is_sticky_actions = False
        self.num_repeats = 0
        self.repeats_taken = 0

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[ObsType, Info]:
        """Resets, and forgets the last action."""
        self.last_action = None
        self._stop_repeating()
        return self.env.reset(seed=seed, options=options)

    def action(self, action: ActType) -> ActType:
        """Returns the last action while a repetition lasts or one begins, else ``action``."""
        if self.is_sticky_actions or self._begins():
            if self.num_repeats == 0:
                least, most = self.repeat_action_duration_range
                self.num_repeats = int(self.np_random.integers(least, most + 1))
            action = cast("ActType", self.last_action)
            self.is_sticky_actions = True
            self.repeats_taken += 1
            if self.repeats_taken == self.num_repeats:
                self._stop_repeating()
        self.last_action = action
        return action

    def _begins(self) -> bool:
        if self.last_action is None:
            return False
        return self.np_random.uniform() < self.repeat_action_probability


def _duration_range(duration: Any) -> tuple[int, int]:
    limits = (duration, duration) if isinstance(duration, int) else duration
    if not is_tuple(limits) or len(limits) != 2:
        raise ValueError(f"repeat_action_duration must be an int or a pair of ints, got {duration}")
    least, most = limits
    if least > most:
        raise InvalidBound(f"repeat_action_duration must be (least, most), got {duration}")
    if least < 1:
        raise ValueError(f"repeat_action_duration must be at least 1, got {duration}")
    return least, most


class RepeatAction(Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs):
    """Steps with the same action several times, until the episode ends, and sums the rewards.

    Args:
        env: The environment to wrap.
        num_repeats: How many times, at least 1.

    Raises:
        TypeError: ``num_repeats`` is not an integer.
        ValueError: It is below 1.
    """

    def __init__(self, env: Env[ObsType, ActType], num_repeats: int) -> None:
        require_at_least(1, "num_repeats", num_repeats)
        RecordConstructorArgs.__init__(self, num_repeats=num_repeats)
        Wrapper.__init__(self, env)
        self.num_repeats = int(num_repeats)

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, Info]:
        """Repeats the action; the last step's observation and info are returned."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        total = 0.0 + float(reward)
        for _ in range(self.num_repeats - 1):
            if terminated or truncated:
                break
            observation, reward, terminated, truncated, info = self.env.step(action)
            total += float(reward)
        return observation, total, terminated, truncated, info
