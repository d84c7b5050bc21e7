"""Distributes the environments of a vector environment over sessions and servers, evenly and in order.

Sessions step in parallel, but each costs a message per step, so the best number of sessions depends on the step time.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import NamedTuple

#: Seconds that one more session adds to a step of all environments: its message, and waking its process. CartPole on
#: two cores: a step of 8 environments takes 112 us in one session and 155 in two, of 64 environments 576 and 458.
_SESSION_SECONDS = 60e-6


class ShardSpec(NamedTuple):
    """The environments of one shard, which share a session: from `start` up to `stop`.

    Attributes:
        target_index: Index of its server in the list of targets.
        start: Index of its first environment.
        stop: Index after its last environment.
    """

    target_index: int
    start: int
    stop: int

    @property
    def size(self) -> int:
        """Number of environments."""
        return self.stop - self.start


class Capacity(NamedTuple):
    """The part of a vector environment that a server can hold.

    Attributes:
        processors: Number of sessions that can work at the same time.
        envs_per_session: Most environments of one session; 0 for no limit.
        step_time: Seconds that a step of one environment takes there; None if unknown.
    """

    processors: int
    envs_per_session: int
    step_time: float | None = None


def lay_out(
    num_envs: int, sessions: int | None, batch_size: int, capacities: Sequence[Capacity]
) -> list[ShardSpec]:
    """Returns the shards in the order of their environments.

    Args:
        num_envs: Number of environments.
        sessions: Number of sessions; None for the number with which a step of all environments is fastest.
        batch_size: Number of environments in a batch, which must consist of whole sessions.
        capacities: The capacity of each target.

    Raises:
        TypeError: A number is not an integer.
        ValueError: The numbers do not fit together.
    """
    numbers = {"num_envs": num_envs, "sessions": sessions or 0, "batch_size": batch_size}
    for name, value in numbers.items():
        if not isinstance(value, Integral):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"{name}={value!r} is not an integer")
    if num_envs < 1 or not 1 <= batch_size <= num_envs:
        raise ValueError(
            f"num_envs={num_envs}, batch_size={batch_size}: give at least one environment, and 1 to all of them a batch"
        )
    count = sessions or _default_sessions(num_envs, batch_size, capacities)
    if not len(capacities) <= count <= num_envs:
        raise ValueError(
            f"num_envs={num_envs} cannot be spread over sessions={count} with targets={len(capacities)}: each target "
            "needs at least one session, and each session at least one environment"
        )
    if batch_size != num_envs and (num_envs % count or batch_size % (num_envs // count)):
        raise ValueError(
            f"batch_size={batch_size} does not consist of whole sessions of {num_envs}/{count} environments each; "
            "choose sessions= or batch_size= so that it does"
        )
    indices = _target_indices(count, capacities)
    bounds = _bounds(num_envs, count)
    return [
        ShardSpec(index, start, stop)
        for index, start, stop in zip(indices, bounds, bounds[1:], strict=False)
    ]


def _default_sessions(num_envs: int, batch_size: int, capacities: Sequence[Capacity]) -> int:
    worthwhile = _worthwhile_sessions(num_envs, capacities)
    limits = [capacity.envs_per_session for capacity in capacities if capacity.envs_per_session]
    needed = -(-num_envs // min(limits)) if limits else 1
    if batch_size == num_envs:
        return min(num_envs, max(worthwhile, needed, len(capacities)))
    processors = sum(capacity.processors for capacity in capacities)
    wanted = min(num_envs, max(processors, needed, len(capacities)))
    # All sessions need the same size, and a batch needs whole sessions; with `num_envs` sessions both hold.
    return next(
        (
            count
            for count in range(wanted, num_envs)
            if num_envs % count == 0 and batch_size % (num_envs // count) == 0
        ),
        num_envs,
    )


def _worthwhile_sessions(num_envs: int, capacities: Sequence[Capacity]) -> int:
    """Returns the number of sessions with which a step of all is fastest; one per processor if that is unknown."""
    processors = sum(capacity.processors for capacity in capacities)
    if any(capacity.step_time is None for capacity in capacities):
        return processors
    step_time = max(capacity.step_time or 0.0 for capacity in capacities)

    def seconds(sessions: int) -> float:
        return sessions * _SESSION_SECONDS + -(-num_envs // sessions) * step_time

    return min(range(1, min(processors, num_envs) + 1), key=seconds)


def _target_indices(count: int, capacities: Sequence[Capacity]) -> list[int]:
    """Returns the target of each session: one per processor if the numbers match, else evenly distributed."""
    by_processor = [
        index for index, capacity in enumerate(capacities) for _ in range(capacity.processors)
    ]
    if len(by_processor) == count:
        return by_processor
    return [session * len(capacities) // count for session in range(count)]


def _bounds(num_envs: int, count: int) -> list[int]:
    """Returns the start of each session, and the end; the remainder adds one environment to the first sessions."""
    size, more = divmod(num_envs, count)
    return [session * size + min(session, more) for session in range(count + 1)]
