"""`on_lost="truncate"` for vector environments: the episodes of a lost shard end as truncated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from envwire.client._recovery.flows import Ask, Flow
from envwire.client._session.operations import Operation, Step
from envwire.client._vector.batching.infos import Infos
from envwire.client._vector.batching.resets import ResetOptions
from envwire.client._vector.shard_episodes import ShardEpisodes, StepResult
from envwire.client.errors import RemoteError
from envwire.codec import Family
from envwire.envs.vector.info import add_info


class TruncatedEpisodes(ShardEpisodes):
    """Episodes that end when their session is lost; for arguments see `ShardEpisodes`."""

    _last: tuple[Any, npt.NDArray[Any]] | None = None
    _autoreset: str
    _split: Callable[[Any], list[Any]]

    def follow(self, autoreset: str, space: Any, family: Family) -> None:
        """Takes the attributes of the environments (see `ShardEpisodes.follow`)."""
        self._autoreset = autoreset
        self._split = partial(_split, family, space, self.spec.size)

    def restart(self) -> Flow[Operation[Any]]:
        """Makes the environments again and starts their next episodes (see `ShardEpisodes.restart`)."""
        if self._autoreset == "DISABLED":
            yield from super().restart()
        yield from self.make()
        return self.reset(None, ResetOptions())

    def answered(self, operation: Operation[Any], result: Any) -> StepResult:
        """Returns the result of an answer (see `ShardEpisodes.answered`)."""
        step = super().answered(operation, result)
        if self._last is not None and not isinstance(operation, Step):
            step = (step[0], np.zeros_like(self._last[1]), *step[2:])
        # Returned again if the session is lost. A copy, because the user may change the observations.
        self._last = deepcopy(step[0]), step[1]
        return step

    def recovered(self, operation: Operation[Any], loss: RemoteError) -> Flow[StepResult]:
        """Ends all episodes (see `ShardEpisodes.recovered`)."""
        yield from self._handle.lose()
        if self._last is None or not isinstance(operation, Step):
            raise loss
        return (yield from self._truncated(self._last, loss))

    def _truncated(self, last: tuple[Any, npt.NDArray[Any]], error: Exception) -> Flow[StepResult]:
        """Returns the end of every episode; in mode SAME_STEP, starts the next ones in the same step."""
        size = self.spec.size
        lost = {"lost": True, "lost_reason": str(error)}
        infos = _joined([lost] * size)
        ended = np.zeros_like(last[1]), np.zeros(size, np.bool_), np.ones(size, np.bool_)
        if self._autoreset != "SAME_STEP":
            return (last[0], *ended, infos)
        final = [{"final_obs": each, "final_info": lost} for each in self._split(last[0])]
        yield from self.make()
        reset = self.reset(None, ResetOptions())
        observations, *_, first = self.answered(reset, (yield Ask(reset)))
        return (observations, *ended, {**_joined(final), **infos, **first})


#: The class of a shard's episodes, by `on_lost`.
EPISODES = {"raise": ShardEpisodes, "replay": ShardEpisodes, "truncate": TruncatedEpisodes}


def _split(family: Family, space: Any, size: int, observations: Any) -> list[Any]:
    """Splits a batch into the observations of each environment."""
    utils = family.vector.utils
    return list(utils.iterate(utils.batch_space(space, size), observations))


def _joined(infos: Sequence[Infos]) -> Infos:
    """Joins the infos of environments, as a `SyncVectorEnv` does."""
    joined: Infos = {}
    for index, info in enumerate(infos):
        add_info(joined, info, index, len(infos))
    return joined
