"""Shards, the environments that share a session, and the mapping between environments and shards."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from envwire.client._recovery.base_handle import BaseSessionHandle
from envwire.client._vector.batching.batches import Bounds
from envwire.client._vector.shard_episodes import ShardEpisodes

H = TypeVar("H", bound=BaseSessionHandle[Any])


class BaseShard(Generic[H]):
    """The environments of one session.

    Args:
        episodes: Builds their requests and reads the answers.
        handle: The handle of their session.

    Attributes:
        episodes: Builds their requests and reads the answers.
        spec: The indices of the environments.
        size: Number of the environments; a plain attribute, because each step reads it.
        handle: The handle of their session.
    """

    def __init__(self, episodes: ShardEpisodes, handle: H) -> None:
        self.episodes = episodes
        self.spec = episodes.spec
        self.size = episodes.spec.size
        self.handle = handle


_S = TypeVar("_S", bound=BaseShard[Any])


def shards_of(shards: Sequence[_S], env_id: Any) -> list[_S]:
    """Returns the shards of some environments, in the given order.

    Raises:
        ValueError: They are not the environments of whole shards.
    """
    chosen: list[_S] = []
    left = np.asarray(env_id).tolist()
    starts = {shard.spec.start: shard for shard in shards}
    while left:
        shard = starts.get(left[0])
        size = shard.size if shard is not None else 0
        if shard is None or left[:size] != list(range(shard.spec.start, shard.spec.stop)):
            raise ValueError(
                f"env_id {left} does not begin with all environments of a session, in order; give whole sessions, "
                "as recv gave them"
            )
        chosen.append(shard)
        left = left[size:]
    return chosen


def compact_bounds(shards: Sequence[BaseShard[Any]]) -> Bounds:
    """Returns the bounds of each shard in a batch that holds only these shards."""
    stops = list(accumulate([shard.size for shard in shards]))
    return list(zip([0, *stops], stops, strict=False))


def env_ids(shards: Sequence[BaseShard[Any]]) -> npt.NDArray[np.int64]:
    """Returns the indices of the environments of some shards."""
    return np.concatenate([np.arange(shard.spec.start, shard.spec.stop) for shard in shards])
