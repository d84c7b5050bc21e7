"""Statistics of the episodes of a vector environment."""

from __future__ import annotations

import time
from collections import deque
from typing import Any

import numpy as np

from envwire.envs import logger
from envwire.envs._env import ActType, Array, Info, ObsType, Options, VectorStep
from envwire.envs.vector.sub_environments import read_reset_mask
from envwire.envs.vector.vector_env import AutoresetMode, VectorEnv, VectorWrapper

__all__ = ["RecordEpisodeStatistics"]


class RecordEpisodeStatistics(VectorWrapper[ObsType, ActType, ObsType, ActType, "Array"]):
    """Adds statistics of each episode to the info of its last step.

    ``info["episode"]`` is ``{"r": returns, "l": lengths, "t": seconds}``, columns with zeros where
    no episode ended, and ``info["_episode"]`` says where one did.

    Args:
        env: The vector environment to wrap.
        buffer_length: How many episodes `return_queue`, `length_queue` and `time_queue` keep.
        stats_key: The key in the info.

    Raises:
        TypeError: The metadata's ``autoreset_mode`` is not an `AutoresetMode`.
    """

    def __init__(
        self,
        env: VectorEnv[ObsType, ActType, Array],
        buffer_length: int = 100,
        stats_key: str = "episode",
    ) -> None:
        super().__init__(env)
        self._stats_key = stats_key
        self._same_step = autoreset_mode(env) is AutoresetMode.SAME_STEP
        self.episode_count = 0
        self.episode_start_times = np.zeros(self.num_envs)
        self.episode_returns = np.zeros(self.num_envs)
        self.episode_lengths = np.zeros(self.num_envs, dtype=int)
        self.prev_dones = np.zeros(self.num_envs, dtype=np.bool_)
        self.time_queue: deque[float] = deque(maxlen=buffer_length)
        self.return_queue: deque[float] = deque(maxlen=buffer_length)
        self.length_queue: deque[int] = deque(maxlen=buffer_length)

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[ObsType, Info]:
        """Resets environments and statistics, of all or of those in ``options["reset_mask"]``."""
        mask = read_reset_mask(options, self.num_envs)  # before the environment takes it out
        result = self.env.reset(seed=seed, options=options)
        self._restart(mask)
        self.prev_dones[mask] = False
        return result

    def _restart(self, mask: Array) -> None:
        self.episode_start_times[mask] = time.perf_counter()
        self.episode_returns[mask] = 0.0
        self.episode_lengths[mask] = 0

    def step(self, actions: ActType) -> VectorStep[ObsType, Array]:
        """Steps, and adds the statistics where an episode ends."""
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        if not self._same_step:
            self._restart(self.prev_dones)  # this step was their reset
        counted = ~self.prev_dones | self._same_step
        self.episode_returns[counted] += rewards[counted]
        self.episode_lengths[counted] += 1
        self.prev_dones = dones = np.logical_or(terminations, truncations)
        if dones.any():
            self._finish_episodes(dones, infos)
        return observations, rewards, terminations, truncations, infos

    def _finish_episodes(self, dones: Array, infos: dict[str, Any]) -> None:
        key = self._stats_key
        if key in infos or f"_{key}" in infos:
            raise ValueError(f"infos already has {key!r}: choose another stats_key, or wrap once")
        seconds = np.round(time.perf_counter() - self.episode_start_times, 6)
        infos[key] = {
            "r": np.where(dones, self.episode_returns, 0.0),
            "l": np.where(dones, self.episode_lengths, 0),
            "t": np.where(dones, seconds, 0.0),
        }
        infos[f"_{key}"] = dones
        self.episode_count += int(dones.sum())
        self.time_queue.extend(seconds[dones])
        self.return_queue.extend(self.episode_returns[dones])
        self.length_queue.extend(self.episode_lengths[dones])
        if self._same_step:
            self._restart(dones)


def autoreset_mode(env: VectorEnv[Any, Any, Any]) -> AutoresetMode:
    """The mode in the metadata of ``env``; ``NEXT_STEP``, with a warning, if there is none.

    Raises:
        TypeError: It is not an `AutoresetMode`.
    """
    mode = env.metadata.get("autoreset_mode")
    if mode is None:
        logger.warn(f"The metadata of {env} has no 'autoreset_mode'; NEXT_STEP is assumed.")
        return AutoresetMode.NEXT_STEP
    if not isinstance(mode, AutoresetMode):
        raise TypeError(f"metadata['autoreset_mode'] must be an AutoresetMode, got {mode!r}")
    return mode
