"""Waits for the first of several shards whose answers arrive."""

from __future__ import annotations

from collections.abc import Sequence

from envwire.client._transports.portability import POLLIN, new_poll
from envwire.client._vector.shards import Shard


def first_finished(sent: Sequence[Shard], count: int) -> list[Shard]:
    """Returns the first shards whose answers have arrived, in the order of their environments.

    A shard without a descriptor to poll counts as finished; such shards are taken in the order of sending.

    Args:
        sent: The shards with an unanswered request, the earliest first.
        count: Number of shards to wait for.
    """
    finished = [shard for shard in sent if shard.fileno() < 0][:count]
    waiting = {shard.fileno(): shard for shard in sent if shard.fileno() >= 0}
    poll = new_poll()
    for descriptor in waiting:
        poll.register(descriptor, POLLIN)
    while len(finished) < count:
        # Of the shards that are ready, the earliest is taken first, so that none is left waiting.
        timeout = min(shard.timeout for shard in waiting.values())
        ready = {descriptor for descriptor, _ in poll.poll(timeout * 1000)} or set(waiting)
        for descriptor in [each for each in waiting if each in ready][: count - len(finished)]:
            poll.unregister(descriptor)
            finished.append(waiting.pop(descriptor))
    return sorted(finished, key=lambda shard: shard.spec.start)
