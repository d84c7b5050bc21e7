"""Remote environments as a `VecEnv` of stable-baselines3. Needs stable-baselines3.

A `VecEnv` resets an environment in the step that ends its episode.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from stable_baselines3.common.vec_env.base_vec_env import VecEnv

from envwire.client._recovery.session_handle import ConnectionStats
from envwire.client._session.requests import WrapperLike, listed, name_and_kwargs
from envwire.client._vector.infos import Infos, rows
from envwire.client.errors import InvalidRequestError
from envwire.client.gymnasium import RemoteVectorEnv

_TRUNCATED = "TimeLimit.truncated"


def _join_rows(sizes: Sequence[int], infos: Sequence[Infos]) -> list[Infos]:
    return [row for size, own in zip(sizes, infos, strict=True) for row in rows(own, size)]


class _RemoteRows(RemoteVectorEnv):
    """A remote vector environment whose infos are a list with one dict for each environment."""

    _join_infos = staticmethod(_join_rows)


class RemoteVecEnv(VecEnv):
    """Remote environments that are a `VecEnv`.

    They return what a local `DummyVecEnv` returns: observations, rewards, dones, infos with "terminal_observation" and
    "TimeLimit.truncated", and `reset_infos`.

    Args:
        target: HOST:PORT of the server, or a list of these.
        env_id: Id of the environments.
        num_envs: How many.
        wrappers: Wrappers to apply to each on the server, innermost first: names, or (name, keyword arguments).
        kwargs: Further arguments of `envwire.client.RemoteVectorEnv`, except the autoreset and vectorization modes.

    Raises:
        InvalidRequestError: An autoreset or vectorization mode was given.
        Exception: As `RemoteVectorEnv`.
    """

    def __init__(
        self,
        /,
        target: str | Sequence[str],
        env_id: str,
        num_envs: int = 1,
        *,
        wrappers: Iterable[WrapperLike] = (),
        **kwargs: Any,
    ) -> None:
        for refused in ("autoreset_mode", "vectorization_mode"):
            if refused in kwargs:
                raise InvalidRequestError(
                    f"{refused} is determined by stable-baselines3; leave it out, or use RemoteVectorEnv"
                )
        wrappers = listed(wrappers)
        self._wrappers = [name_and_kwargs(each)[0] for each in wrappers]
        self._envs = _RemoteRows(
            target, env_id, num_envs, wrappers=wrappers, autoreset_mode="SAME_STEP", **kwargs
        )
        spaces: Any = self._envs.single_observation_space, self._envs.single_action_space
        super().__init__(num_envs, *spaces)  # pyright: ignore[reportUnknownMemberType]
        self.metadata = {
            name: each for name, each in self._envs.metadata.items() if name != "autoreset_mode"
        }

    def reset(self) -> Any:
        """Starts an episode in every environment, with the seeds and options that were set; returns observations."""
        options: Any = self._options if any(self._options) else None
        observations, infos = self._envs.reset(seed=self._seeds, options=options)
        self.reset_infos = infos  # type: ignore[assignment]
        self._reset_seeds()
        self._reset_options()
        return observations

    def step_async(self, actions: npt.NDArray[Any]) -> None:
        """Sends actions, one for each environment."""
        self._envs.step_async(actions)

    def step_wait(self) -> tuple[Any, npt.NDArray[np.float32], npt.NDArray[np.bool_], list[Infos]]:
        """Returns observations, rewards, dones and infos."""
        infos: Any
        observations, rewards, terminated, truncated, infos = self._envs.step_wait()
        dones = terminated | truncated
        for index in np.flatnonzero(dones).tolist():
            infos[index] = self._ended(index, infos[index])
        for info, cut in zip(infos, (truncated & ~terminated).tolist(), strict=True):
            info[_TRUNCATED] = cut
        return observations, rewards.astype(np.float32), dones, infos

    def _ended(self, index: int, info: Infos) -> Infos:
        """Keeps the info of the reset, and returns the info of the step that ended the episode."""
        final, observation = info.pop("final_info"), info.pop("final_obs")
        self.reset_infos[index] = info
        return {**final, "terminal_observation": observation}

    @property
    def connection_stats(self) -> ConnectionStats:
        """Counters of the sessions and connections, summed."""
        return self._envs.connection_stats

    def close(self) -> None:
        """Closes the environments on the servers."""
        self._envs.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Returns an attribute of each environment (or the result, if it is a method)."""
        return self._envs.call_on(list(self._get_indices(indices)), attr_name)

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Sets an attribute of each environment to one value."""
        self._envs.set_attr_on(list(self._get_indices(indices)), attr_name, value)

    def env_method(
        self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any
    ) -> list[Any]:
        """Calls a method of each environment and returns the results."""
        chosen = list(self._get_indices(indices))
        return self._envs.call_on(chosen, method_name, *method_args, **method_kwargs)

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        """Returns whether each environment has this wrapper among those that were asked for."""
        names = {wrapper_class.__name__, f"{wrapper_class.__module__}:{wrapper_class.__qualname__}"}
        wrapped = not names.isdisjoint(self._wrappers)
        return [wrapped for _ in self._get_indices(indices)]

    def get_images(self) -> Sequence[npt.NDArray[np.uint8] | None]:
        """Returns a frame of each environment."""
        if self.render_mode != "rgb_array":
            return [None] * self.num_envs
        return list(self._envs.render())
