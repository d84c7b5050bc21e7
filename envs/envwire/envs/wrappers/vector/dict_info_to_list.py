"""The info of a vector environment as one dict per sub-environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from envwire.envs._env import ActType, ArrayType, ObsType, Options
from envwire.envs.logger import require
from envwire.envs.type_guards import is_dict
from envwire.envs.vector.vector_env import VectorWrapper

__all__ = ["DictInfoToList"]


class DictInfoToList(VectorWrapper[ObsType, ActType, ObsType, ActType, ArrayType]):
    """Turns the info's columns into a list of dicts, each with what its sub-environment has.

    The list replaces the dict that `VectorEnv` promises, so only agents that expect it can use it.
    """

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[ObsType, Any]:
        """Resets the wrapped environments; the info is a list."""
        observations, infos = self.env.reset(seed=seed, options=options)
        return observations, info_list(infos, self.num_envs)

    def step(self, actions: ActType) -> tuple[ObsType, ArrayType, ArrayType, ArrayType, Any]:
        """Steps the wrapped environments; the info is a list."""
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        return observations, rewards, terminations, truncations, info_list(infos, self.num_envs)


def info_list(infos: dict[str, Any], num_envs: int) -> list[dict[str, Any]]:
    """Returns one dict per sub-environment for an info of columns and masks.

    A column without a mask belongs to every sub-environment.

    Raises:
        AssertionError: A column or a mask has another length.
    """
    each: list[dict[str, Any]] = [{} for _ in range(num_envs)]
    for key, column in infos.items():
        if key.startswith("_"):
            continue
        values = cast("Sequence[Any]", info_list(column, num_envs) if is_dict(column) else column)
        mask = infos.get(f"_{key}", [True] * num_envs)
        require(
            len(values) == len(mask) == num_envs,
            f"infos[{key!r}] and its mask must have {num_envs} elements, "
            f"got {len(values)} and {len(mask)}",
        )
        for info, value, present in zip(each, values, mask, strict=True):
            if present:
                info[key] = value
    return each
