"""The most common wrappers: time limits, autoreset, order of calls, checks and statistics.

A spec names a wrapper by its module, so each class is in the module where Gymnasium has it.
"""

from __future__ import annotations

import time
from collections import deque
from typing import Any, SupportsFloat, cast

from envwire.envs import logger
from envwire.envs._env import ActType, Info, ObsType, Options
from envwire.envs.core import Env, RenderFrame, Wrapper
from envwire.envs.error import ResetNeeded
from envwire.envs.specs import EnvSpec
from envwire.envs.utils.passive_env_checker import (
    env_data_reuse_passive_checker,
    env_render_passive_checker,
    env_reset_passive_checker,
    env_spaces_passive_checker,
    env_step_passive_checker,
)
from envwire.envs.utils.record_constructor import RecordConstructorArgs

__all__ = [
    "Autoreset",
    "OrderEnforcing",
    "PassiveEnvChecker",
    "RecordEpisodeStatistics",
    "TimeLimit",
]


class TimeLimit(Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs):
    """Truncates an episode after ``max_episode_steps`` steps.

    Args:
        env: The environment to wrap.
        max_episode_steps: The number of steps, > 0, of which the last is truncated.

    Raises:
        TypeError: ``max_episode_steps`` is not an int.
        ValueError: It is not positive.
    """

    def __init__(self, env: Env[ObsType, ActType], max_episode_steps: int) -> None:
        if not isinstance(max_episode_steps, int):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"max_episode_steps must be an int, got {type(max_episode_steps)}")
        if max_episode_steps <= 0:
            raise ValueError(f"max_episode_steps must be positive, got {max_episode_steps}")
        RecordConstructorArgs.__init__(self, max_episode_steps=max_episode_steps)
        Wrapper.__init__(self, env)
        self._max_episode_steps = max_episode_steps
        self._elapsed_steps: int | None = None

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, Info]:
        """Steps, and truncates when the limit is reached."""
        if self._elapsed_steps is None:
            raise ResetNeeded("Call reset() before step(): TimeLimit counts from the reset")
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._elapsed_steps += 1
        if self._elapsed_steps >= self._max_episode_steps:
            truncated = True
        return observation, reward, terminated, truncated, info

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[ObsType, Info]:
        """Resets, and counts from zero."""
        self._elapsed_steps = 0
        return self.env.reset(seed=seed, options=options)

    @property
    def max_episode_steps(self) -> int:
        """The number of steps in an episode."""
        return self._max_episode_steps

    def _extend_spec(self, spec: EnvSpec) -> None:
        spec.max_episode_steps = self._max_episode_steps


class Autoreset(Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs):
    """Resets on the step after the one that ended an episode, ignoring that step's action.

    This is what a vector environment does in `AutoresetMode.NEXT_STEP`. The step that resets
    returns the new episode's first observation with a reward of 0.0.
    """

    def __init__(self, env: Env[ObsType, ActType]) -> None:
        RecordConstructorArgs.__init__(self)
        Wrapper.__init__(self, env)
        self.autoreset = False

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[ObsType, Info]:
        """Resets; the next step steps."""
        self.autoreset = False
        return self.env.reset(seed=seed, options=options)

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, Info]:
        """Steps, or resets if the step before ended the episode."""
        if self.autoreset:
            self.autoreset = False
            observation, info = self.env.reset()
            return observation, 0.0, False, False, info
        result = self.env.step(action)
        self.autoreset = result[2] or result[3]
        return result


class PassiveEnvChecker(Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs):
    """Checks the spaces once and the results of the first calls, and changes nothing.

    Raises:
        AttributeError: The environment has no action or no observation space.
        TypeError: One of them is not a space.
        AssertionError: One of them is inconsistent.
    """

    def __init__(self, env: Env[ObsType, ActType]) -> None:
        RecordConstructorArgs.__init__(self)
        Wrapper.__init__(self, env)
        env_spaces_passive_checker(env)
        self.checked_reset = False
        self.checked_step = False
        self.checked_render = False
        self.checked_data_reuse = False
        self.close_called = False
        self._previous: tuple[ObsType, dict[str, Any]] | None = None

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, Info]:
        """Steps; the first two results are checked."""
        if self.checked_data_reuse:
            return self.env.step(action)
        return self._first_steps(action)

    def _first_steps(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, Info]:
        """Checks the first result, and that it shares nothing with the reset's nor the second's."""
        second = self.checked_step
        self.checked_step = True
        result = self.env.step(action) if second else env_step_passive_checker(self.env, action)
        observation, _reward, _terminated, _truncated, info = result
        if self._previous is not None:
            source = "step" if second else "reset"
            env_data_reuse_passive_checker(self._previous, (observation, info), source, "step")
        self._previous = None if second else (observation, info)
        self.checked_data_reuse = second
        return result

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[ObsType, Info]:
        """Resets; the first result is checked."""
        if self.checked_reset:
            return self.env.reset(seed=seed, options=options)
        self.checked_reset = True
        self._previous = env_reset_passive_checker(self.env, seed=seed, options=options)
        return self._previous

    def render(self) -> RenderFrame | list[RenderFrame] | None:
        """Renders; the first result is checked."""
        if self.checked_render:
            return self.env.render()
        self.checked_render = True
        return env_render_passive_checker(self.env)

    def close(self) -> None:
        """Closes; warns if closing a second time fails."""
        again, self.close_called = self.close_called, True
        try:
            self.env.close()
        except Exception:
            if again:
                logger.warn("Calling `env.close()` a second time must do nothing, but it raised.")
            raise

    def _extend_spec(self, spec: EnvSpec) -> None:
        spec.disable_env_checker = False


class OrderEnforcing(Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs):
    """Refuses `step` and `render` before the first `reset`.

    Args:
        env: The environment to wrap.
        disable_render_order_enforcing: Whether `render` is allowed at any time.
    """

    def __init__(
        self, env: Env[ObsType, ActType], disable_render_order_enforcing: bool = False
    ) -> None:
        RecordConstructorArgs.__init__(
            self, disable_render_order_enforcing=disable_render_order_enforcing
        )
        Wrapper.__init__(self, env)
        self._has_reset = False
        self._disable_render_order_enforcing = disable_render_order_enforcing

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, Info]:
        """Steps.

        Raises:
            ResetNeeded: There was no reset yet.
        """
        if not self._has_reset:
            raise ResetNeeded("Cannot call env.step() before calling env.reset()")
        return self.env.step(action)

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[ObsType, Info]:
        """Resets, and from then on allows everything."""
        self._has_reset = True
        return self.env.reset(seed=seed, options=options)

    def render(self) -> RenderFrame | list[RenderFrame] | None:
        """Renders.

        Raises:
            ResetNeeded: There was no reset yet, and order matters.
        """
        if not (self._has_reset or self._disable_render_order_enforcing):
            raise ResetNeeded(
                "Cannot call `env.render()` before calling `env.reset()`; if the environment can "
                "render then, set `disable_render_order_enforcing=True` on OrderEnforcing"
            )
        return self.env.render()

    @property
    def has_reset(self) -> bool:
        """Whether the environment was ever reset."""
        return self._has_reset

    def _extend_spec(self, spec: EnvSpec) -> None:
        spec.order_enforce = True


class RecordEpisodeStatistics(Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs):
    """Adds statistics of each episode to the info of its last step.

    ``info["episode"]`` is ``{"r": return, "l": length in steps, "t": seconds since the reset}``.

    Args:
        env: The environment to wrap.
        buffer_length: How many episodes `return_queue`, `length_queue` and `time_queue` keep.
        stats_key: The key in the info.
    """

    def __init__(
        self, env: Env[ObsType, ActType], buffer_length: int = 100, stats_key: str = "episode"
    ) -> None:
        RecordConstructorArgs.__init__(self, buffer_length=buffer_length, stats_key=stats_key)
        Wrapper.__init__(self, env)
        self._stats_key = stats_key
        self.episode_count = 0
        self.episode_start_time: float = -1
        self.episode_returns: Any = 0.0
        self.episode_lengths = 0
        self.time_queue: deque[float] = deque(maxlen=buffer_length)
        self.return_queue: deque[float] = deque(maxlen=buffer_length)
        self.length_queue: deque[int] = deque(maxlen=buffer_length)

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, Info]:
        """Steps, and adds the statistics when the episode ends."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        self.episode_returns += cast("Any", reward)
        self.episode_lengths += 1
        if terminated or truncated:
            self._finish_episode(info)
        return observation, reward, terminated, truncated, info

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[ObsType, Info]:
        """Resets the environment and the statistics."""
        result = self.env.reset(seed=seed, options=options)
        self.episode_start_time = time.perf_counter()
        self.episode_returns = 0.0
        self.episode_lengths = 0
        return result

    def _finish_episode(self, info: dict[str, Any]) -> None:
        if self._stats_key in info:
            raise AssertionError(
                f"info already has {self._stats_key!r}: choose another stats_key, or wrap once"
            )
        now = time.perf_counter()
        seconds = round(now - self.episode_start_time, 6)
        info[self._stats_key] = {
            "r": self.episode_returns,
            "l": self.episode_lengths,
            "t": seconds,
        }
        self.time_queue.append(seconds)
        self.return_queue.append(self.episode_returns)
        self.length_queue.append(self.episode_lengths)
        self.episode_count += 1
        self.episode_start_time = now
