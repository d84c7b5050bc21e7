"""Wrappers that change an observation depending on earlier observations."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, SupportsFloat

import numpy as np

from envwire.envs import spaces
from envwire.envs._env import ActType, Array, Info, ObsType, Options
from envwire.envs.core import Env, ObservationWrapper, Wrapper
from envwire.envs.spaces.batched_elements import stack
from envwire.envs.spaces.batched_spaces import batch_space
from envwire.envs.spaces.utils import flatten, flatten_space
from envwire.envs.utils.record_constructor import RecordConstructorArgs
from envwire.envs.wrappers.common import TimeLimit
from envwire.envs.wrappers.utils import (
    RunningMeanStd,
    create_zero_array,
    require_at_least,
    require_positive,
)

__all__ = [
    "DelayObservation",
    "FrameStackObservation",
    "MaxAndSkipObservation",
    "NormalizeObservation",
    "TimeAwareObservation",
]


class DelayObservation(ObservationWrapper[ObsType, ActType, ObsType], RecordConstructorArgs):
    """Shows each observation ``delay`` steps later, and zeros until the first one is due.

    Args:
        env: The environment to wrap.
        delay: In steps, at least 0.

    Raises:
        TypeError: ``delay`` is not an integer.
        ValueError: It is negative.
    """

    def __init__(self, env: Env[ObsType, ActType], delay: int) -> None:
        require_at_least(0, "delay", delay)
        RecordConstructorArgs.__init__(self, delay=delay)
        Wrapper.__init__(self, env)
        self.delay = int(delay)
        self.observation_queue: deque[ObsType] = deque()

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[ObsType, Info]:
        """Resets, and drops the observations that are still delayed."""
        self.observation_queue.clear()
        return super().reset(seed=seed, options=options)

    def observation(self, observation: ObsType) -> ObsType:
        """Returns the observation that is due, or zeros."""
        self.observation_queue.append(observation)
        if len(self.observation_queue) > self.delay:
            return self.observation_queue.popleft()
        zero: ObsType = create_zero_array(self.observation_space)
        return zero


class TimeAwareObservation(ObservationWrapper["Any", ActType, "Any"], RecordConstructorArgs):
    """Adds the number of steps since the reset to the observation.

    Args:
        env: The environment to wrap; it must have a time limit.
        flatten: Whether the observation with the time in it is flattened. Otherwise the time is an
            entry of the Dict, the last of the Tuple, or in a Dict ``{"obs": ..., "time": ...}``.
        normalize_time: Whether the time is a float32 in [0, 1] instead of an int32.
        dict_time_key: The key of the time in an observation that is a Dict.

    Raises:
        ValueError: There is no time limit, or the Dict already has that key.
    """

    def __init__(
        self,
        env: Env[Any, ActType],
        flatten: bool = True,
        normalize_time: bool = False,
        *,
        dict_time_key: str = "time",
    ) -> None:
        RecordConstructorArgs.__init__(
            self, flatten=flatten, normalize_time=normalize_time, dict_time_key=dict_time_key
        )
        Wrapper.__init__(self, env)
        self.flatten = flatten
        self.normalize_time = normalize_time
        self.max_timesteps = _time_limit(env)
        self.timesteps = 0
        limit = self.max_timesteps
        time = spaces.Box(0.0, 1.0) if normalize_time else spaces.Box(0, limit, dtype=np.int32)
        self._timed_space, self._add_time = _with_time(env.observation_space, time, dict_time_key)
        self.observation_space = flatten_space(self._timed_space) if flatten else self._timed_space

    def observation(self, observation: Any) -> Any:
        """Returns the observation with the time."""
        timed = self._add_time(observation, self._time())
        return flatten(self._timed_space, timed) if self.flatten else timed

    def _time(self) -> Array:
        if self.normalize_time:
            return np.array([self.timesteps / self.max_timesteps], dtype=np.float32)
        return np.array([self.timesteps], dtype=np.int32)

    def step(self, action: ActType) -> tuple[Any, SupportsFloat, bool, bool, Info]:
        """Steps, and adds one to the time."""
        self.timesteps += 1
        return super().step(action)

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[Any, Info]:
        """Resets; the time is 0."""
        self.timesteps = 0
        return super().reset(seed=seed, options=options)


def _time_limit(env: Env[Any, Any]) -> int:
    """The step at which ``env`` truncates, from its spec or from a `TimeLimit` around it."""
    if env.spec is not None and env.spec.max_episode_steps is not None:
        return env.spec.max_episode_steps
    layer: Any = env
    while layer is not env.unwrapped:
        if isinstance(layer, TimeLimit):
            return layer.max_episode_steps
        layer = layer.env
    raise ValueError(f"TimeAwareObservation needs a time limit: wrap {env} in TimeLimit first")


def _with_time(
    space: spaces.Space[Any], time: spaces.Box, key: str
) -> tuple[spaces.Space[Any], Callable[[Any, Array], Any]]:
    """The space with the time in it, and the function that puts it into an observation."""
    if isinstance(space, spaces.Tuple):
        return spaces.Tuple((*space.spaces, time)), lambda obs, now: (*obs, now)
    if not isinstance(space, spaces.Dict):
        return spaces.Dict(obs=space, time=time), lambda obs, now: {"obs": obs, "time": now}
    if key in space.spaces:
        raise ValueError(f"The observation space already has an entry {key!r}: {space}")
    timed = spaces.Dict({key: time, **space.spaces}, sort_keys=space.sort_keys)
    return timed, lambda obs, now: {key: now, **obs}


class FrameStackObservation(Wrapper["Any", ActType, ObsType, ActType], RecordConstructorArgs):
    """Shows the last observations in one batch, the newest last.

    Args:
        env: The environment to wrap.
        stack_size: How many, at least 1.
        padding_type: What replaces observations before the first: ``"reset"`` for copies of the
            first, ``"zero"`` for zeros, or a given observation.

    Raises:
        TypeError: ``stack_size`` is not an integer.
        ValueError: It is below 1, or the padding is not in the observation space.
    """

    def __init__(
        self, env: Env[ObsType, ActType], stack_size: int, *, padding_type: str | ObsType = "reset"
    ) -> None:
        RecordConstructorArgs.__init__(self, stack_size=stack_size, padding_type=padding_type)
        Wrapper.__init__(self, env)
        require_at_least(1, "stack_size", stack_size)
        self._single_space: spaces.Space[Any] = env.observation_space
        self.padding_value, self.padding_type = self._padding(padding_type)
        self.stack_size = int(stack_size)
        self.observation_space = batch_space(self._single_space, self.stack_size)
        padding = [self.padding_value] * self.stack_size
        self.obs_queue: deque[Any] = deque(padding, maxlen=self.stack_size)

    def _padding(self, kind: Any) -> tuple[Any, str]:
        """The observation to pad with until a reset says otherwise, and the kind of padding."""
        if isinstance(kind, str) and kind in ("reset", "zero"):
            return create_zero_array(self._single_space), kind
        if kind in self._single_space:
            return kind, "_custom"
        raise ValueError(
            f"padding_type must be 'reset', 'zero' or an element of {self._single_space}, "
            f"got {kind!r}"
        )

    def step(self, action: ActType) -> tuple[Any, SupportsFloat, bool, bool, Info]:
        """Steps, and shows the batch with the new observation."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        self.obs_queue.append(observation)
        return self._stack(), reward, terminated, truncated, info

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[Any, Info]:
        """Resets, and shows the padding with the first observation."""
        observation, info = self.env.reset(seed=seed, options=options)
        if self.padding_type == "reset":
            self.padding_value = observation
        self.obs_queue.extend([self.padding_value] * (self.stack_size - 1))
        self.obs_queue.append(observation)
        return self._stack(), info

    def _stack(self) -> Any:
        return stack(self._single_space, self.obs_queue)


class NormalizeObservation(ObservationWrapper["Array", ActType, "Any"], RecordConstructorArgs):
    """Normalises observations by their running mean and standard deviation.

    Args:
        env: The environment to wrap; its observations have a shape.
        epsilon: Added to the variance, > 0.

    Attributes:
        update_running_mean: Whether new observations count; switch it off to evaluate.

    Raises:
        InvalidBound: ``epsilon`` is not positive.
        ValueError: The observations have no shape.
    """

    def __init__(self, env: Env[Any, ActType], epsilon: float = 1e-8) -> None:
        require_positive("epsilon", epsilon)
        RecordConstructorArgs.__init__(self, epsilon=epsilon)
        Wrapper.__init__(self, env)
        shape = _require_shape(env.observation_space)
        self.observation_space = spaces.Box(-np.inf, np.inf, shape=shape, dtype=np.float32)
        self.obs_rms = RunningMeanStd(shape=shape, dtype=np.float32)
        self.epsilon = epsilon
        self.update_running_mean = True

    def observation(self, observation: Any) -> Any:
        """Returns the normalised observation, in float32."""
        if self.update_running_mean:
            self.obs_rms.update(np.array([observation]))
        deviation = np.sqrt(self.obs_rms.var + self.epsilon)
        return np.float32((observation - self.obs_rms.mean) / deviation)


def _require_shape(space: spaces.Space[Any]) -> tuple[int, ...]:
    if space.shape is None:
        raise ValueError(f"The observations must have one shape, got the space {space}")
    return space.shape


class MaxAndSkipObservation(Wrapper["Array", ActType, "Array", ActType], RecordConstructorArgs):
    """Repeats each action and shows the largest of the last two observations, element by element.

    Args:
        env: The environment to wrap; its observations have a shape.
        skip: How many times to repeat, at least 2. The rewards are summed.

    Raises:
        TypeError: ``skip`` is not an integer.
        ValueError: It is below 2, or the observations have no shape.
    """

    def __init__(self, env: Env[Array, ActType], skip: int = 4) -> None:
        RecordConstructorArgs.__init__(self, skip=skip)
        Wrapper.__init__(self, env)
        require_at_least(2, "skip", skip)
        shape = _require_shape(env.observation_space)
        self._skip = int(skip)
        self._obs_buffer: Array = np.zeros((2, *shape), dtype=env.observation_space.dtype)

    def step(self, action: ActType) -> tuple[Array, SupportsFloat, bool, bool, Info]:
        """Repeats the action until the episode ends."""
        total, terminated, truncated = 0.0, False, False
        info: dict[str, Any] = {}
        for remaining in range(self._skip, 0, -1):
            observation, reward, terminated, truncated, info = self.env.step(action)
            # An episode that ends early leaves older observations here, as it does in Gymnasium.
            if remaining <= 2:
                self._obs_buffer[2 - remaining] = observation
            total += float(reward)
            if terminated or truncated:
                break
        return np.max(self._obs_buffer, axis=0), total, terminated, truncated, info
