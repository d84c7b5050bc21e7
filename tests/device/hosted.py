"""Environments whose arrays are of a library of the caller's choice, on the device of its choice."""

from __future__ import annotations

import os
import signal
from typing import Any

import numpy as np

import envwire.envs as gym
from envwire.envs import spaces
from envwire.envs.vector import AutoresetMode, VectorEnv
from envwire.envs.vector.utils import batch_space
from tests.device.libraries import host, to

Result = tuple[Any, Any, Any, Any, dict[str, Any]]


class Drift(gym.Env[Any, Any]):
    """A point that drifts, in a dictionary and a tuple of arrays."""

    def __init__(self, library: str = "own", device: str = "cpu") -> None:
        self._library, self._device = library, device
        part = spaces.Box(-np.inf, np.inf, (3,), np.float32)
        self.observation_space = spaces.Dict({"a": part, "b": spaces.Tuple((part, part))})
        self.action_space = spaces.Box(-1, 1, (3,), np.float32)

    def _to(self, array: Any) -> Any:
        return to(self._library, array, self._device)

    def _observation(self) -> Any:
        return {"a": self._to(self._at), "b": (self._to(self._at * 2), self._to(self._at * 3))}

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._at = self.np_random.random(3, np.float32)
        return self._observation(), {"at": self._to(self._at)}

    def step(self, action: Any) -> Result:
        self._at = self._at + host(action)
        ended = self._to(np.array(bool(self._at[0] > 3)))
        reward = self._to(self._at.sum())
        return self._observation(), reward, ended, False, {"at": self._to(self._at)}


class Drifts(VectorEnv[Any, Any, Any]):
    """Many points, whose episodes end now and then, in any autoreset mode."""

    def __init__(
        self,
        num_envs: int = 4,
        library: str = "own",
        device: str = "cpu",
        width: int = 3,
        autoreset: str = "NEXT_STEP",
        nested: bool = False,
        last_step: int = -1,
        **_: Any,
    ) -> None:
        self.num_envs = num_envs
        self._library, self._device, self._mode = library, device, AutoresetMode[autoreset]
        self.metadata = {"autoreset_mode": self._mode}
        part = spaces.Box(-np.inf, np.inf, (width,), np.float32)
        self._nested, self._steps_left = nested, last_step
        self.single_observation_space = (
            spaces.Dict({"a": part, "b": spaces.Tuple((part, part))}) if nested else part
        )
        self.single_action_space = spaces.Box(-1, 1, (width,), np.float32)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.render_mode = None
        self.seen: list[str] = []
        self._over = np.zeros(num_envs, np.bool_)

    def _to(self, array: Any) -> Any:
        return to(self._library, array, self._device)

    def _drawn(self) -> Any:
        return self.np_random.random(self.action_space.shape, np.float32)

    def _seen(self, at: Any) -> Any:
        if not self._nested:
            return self._to(at)
        return {"a": self._to(at), "b": (self._to(at * 2), self._to(at * 3))}

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        drawn = self._drawn()
        mask = (options or {}).get("reset_mask")
        self._at = drawn if mask is None else np.where(host(mask)[:, None], drawn, self._at)
        self._over[:] = False
        return self._seen(self._at), self._sums()

    def _sums(self) -> dict[str, Any]:
        everybody = np.ones(self.num_envs, np.bool_)
        return {"sum": self._to(self._at.sum(1)), "_sum": self._to(everybody)}

    def step(self, actions: Any) -> Result:
        self._steps_left -= 1
        if not self._steps_left:
            self.die()
        self.seen.append(type(actions).__module__.partition(".")[0])
        at, info = self._at + host(actions), {}
        if self._mode is AutoresetMode.NEXT_STEP:
            at = np.where(self._over[:, None], self._drawn(), at)
        ended = at[:, 0] > 2
        if self._mode is AutoresetMode.SAME_STEP and ended.any():
            info = {
                "final_obs": self._seen(at),
                "_final_obs": self._to(ended),
                "final_info": {"sum": self._to(at.sum(1)), "_sum": self._to(ended)},
                "_final_info": self._to(ended),
            }
            at = np.where(ended[:, None], self._drawn(), at)
        self._at, self._over = at, ended
        info |= self._sums()
        flags = self._to(ended), self._to(np.zeros(self.num_envs, np.bool_))
        return self._seen(at), self._to(at.sum(1)), *flags, info

    def die(self) -> None:
        """Kills the environment's process."""
        os.kill(os.getpid(), signal.SIGKILL)


gym.register(
    id="device/Drift-v0",
    entry_point="tests.device.hosted:Drift",
    vector_entry_point="tests.device.hosted:Drifts",
    disable_env_checker=True,
    order_enforce=False,
)
