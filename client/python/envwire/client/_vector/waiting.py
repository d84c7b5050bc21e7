"""Waiting for the first sessions that finish, among several that work at the same time."""

from __future__ import annotations

import select
from collections.abc import Sequence

from envwire.client._vector.shards import Seat


def first_finished(flying: Sequence[Seat], count: int) -> list[Seat]:
    """Returns the first seats whose replies have come, in the order of their environments.

    Where only waiting can tell, a seat counts as finished: those are served in the order in which they were sent.

    Args:
        flying: Seats that something was sent to, the earliest first.
        count: How many to wait for.
    """
    finished = [seat for seat in flying if seat.fileno() < 0][:count]
    waiting = {seat.fileno(): seat for seat in flying if seat.fileno() >= 0}
    poll = select.poll()
    for descriptor in waiting:
        poll.register(descriptor, select.POLLIN)
    while len(finished) < count:
        # Among those that are ready the earliest comes first, so that none waits for ever.
        timeout = min(seat.timeout for seat in waiting.values())
        ready = {descriptor for descriptor, _ in poll.poll(timeout * 1000)} or set(waiting)
        for descriptor in [each for each in waiting if each in ready][: count - len(finished)]:
            poll.unregister(descriptor)
            finished.append(waiting.pop(descriptor))
    return sorted(finished, key=lambda seat: seat.share.start)
