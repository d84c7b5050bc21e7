"""`on_lost="truncate"` for vector environments: episodes of a lost shard end as truncated."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from envwire.client._session.operations import Step
from envwire.client._vector.batching.infos import Infos
from envwire.client._vector.batching.resets import ResetOptions
from envwire.client._vector.shards import Shard, StepResult
from envwire.client.errors import RemoteError
from envwire.codec import Family
from envwire.envs.type_guards import is_array, is_dict, is_tuple


class TruncatingShard(Shard):
    """A shard whose environments' episodes end with the session. For its arguments see `Shard`."""

    _last: tuple[Any, npt.NDArray[Any]] | None = None
    _autoreset: str
    _split: Callable[[Any], list[Any]]

    def follow(self, autoreset: str, space: Any, family: Family) -> None:
        """Takes note of what the environments are like (see `Shard.follow`)."""
        self._autoreset = autoreset
        self._split = partial(_split, family, space, self.spec.size)

    def restart(self) -> None:
        """Begins the next episodes, in environments that are made again (see `Shard.restart`)."""
        if self._autoreset == "DISABLED":
            super().restart()
        self.make()
        self.begin_reset(None, ResetOptions())

    def finish(self) -> StepResult:
        """Waits for what was begun (see `Shard.finish`)."""
        result = super().finish()
        # Shown once more should the session be lost, so that nobody else may change it.
        self._last = _copy(result[0]), result[1]
        return result

    def recover(self, loss: RemoteError) -> StepResult:
        """Ends all episodes (see `Shard.recover`)."""
        self.handle.run(self.handle.lose())
        if self._last is None or not isinstance(self._operation, Step):
            raise loss
        return self._truncated(self._last, loss)

    def _as_step(self, result: Any) -> StepResult:
        step = super()._as_step(result)
        if self._last is None or isinstance(self._operation, Step):
            return step
        return (step[0], np.zeros_like(self._last[1]), *step[2:])

    def _truncated(self, last: tuple[Any, npt.NDArray[Any]], error: Exception) -> StepResult:
        """Returns the end of every episode, and begins the next ones where that belongs to the same step."""
        size = self.spec.size
        infos = _loss_infos(error, size)
        ended = np.zeros_like(last[1]), np.zeros(size, np.bool_), np.ones(size, np.bool_)
        if self._autoreset != "SAME_STEP":
            return (last[0], *ended, infos)
        everybody = np.ones(size, np.bool_)
        final = np.empty(size, dtype=object)
        final[:] = self._split(last[0])
        self.make()
        self.begin_reset(None, ResetOptions())
        observations, *_, first = self.finish()
        ending: Infos = {"final_obs": final, "_final_obs": everybody}
        ending |= {"final_info": _loss_infos(error, size), "_final_info": everybody}
        return (observations, *ended, {**ending, **infos, **first})


def _split(family: Family, space: Any, size: int, observations: Any) -> list[Any]:
    """Takes a batch of observations apart."""
    utils = family.vector.utils
    return list(utils.iterate(utils.batch_space(space, size), observations))


def _loss_infos(error: Exception, size: int) -> Infos:
    everybody = np.ones(size, np.bool_)
    reasons = np.full(size, str(error), dtype=object)
    return {
        "lost": np.copy(everybody),
        "_lost": np.copy(everybody),
        "lost_reason": reasons,
        "_lost_reason": everybody,
    }


def _copy(observations: Any) -> Any:
    if is_dict(observations):
        return {key: _copy(part) for key, part in observations.items()}
    if is_tuple(observations):
        return tuple(map(_copy, observations))
    return np.copy(observations) if is_array(observations) else observations
