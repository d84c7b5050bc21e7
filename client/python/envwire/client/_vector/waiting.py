"""Waits for the first of several sessions that finish."""

from __future__ import annotations

from collections.abc import Sequence

from envwire.client._transports.portability import POLLIN, new_poll
from envwire.client._vector.shards import Shard


def first_finished(flying: Sequence[Shard], count: int) -> list[Shard]:
    """Returns the first shards whose replies have come, in the order of their environments.

    Where only waiting can tell, a shard counts as finished: those are served in the order in which they were sent.

    Args:
        flying: Shards that something was sent to, the earliest first.
        count: How many to wait for.
    """
    finished = [shard for shard in flying if shard.fileno() < 0][:count]
    waiting = {shard.fileno(): shard for shard in flying if shard.fileno() >= 0}
    poll = new_poll()
    for descriptor in waiting:
        poll.register(descriptor, POLLIN)
    while len(finished) < count:
        # Among those that are ready the earliest comes first, so that none waits for ever.
        timeout = min(shard.timeout for shard in waiting.values())
        ready = {descriptor for descriptor, _ in poll.poll(timeout * 1000)} or set(waiting)
        for descriptor in [each for each in waiting if each in ready][: count - len(finished)]:
            poll.unregister(descriptor)
            finished.append(waiting.pop(descriptor))
    return sorted(finished, key=lambda shard: shard.spec.start)
