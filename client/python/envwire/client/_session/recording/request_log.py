"""Request logs: recorded requests in order, with a digest of their answers."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator

from envwire.client.errors import ReplayMismatchError
from envwire.codec.digests import CHECKPOINT, Digested, RollingDigest
from envwire.v1 import environment_pb2 as pb
from envwire.wire.envelope import REQUESTS

#: Most bytes of requests in one message.
_PART_BYTES = 1024 * 1024
#: Most bytes of requests in one log.
MAX_BYTES = 256 * 1024 * 1024
#: Memory of a bytes object and its place in a list, beside the content.
_OVERHEAD_BYTES = 48
#: Requests whose effects outlast episodes.
KEPT = ("set_attribute", "call_method")


class RequestLog:
    """Recorded requests in order, with a digest of their answers.

    Args:
        limit: Most requests in the log, which also holds at most 256 MiB.

    Attributes:
        overflowed: Whether there were more requests, so that the log cannot be replayed.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._requests: list[bytes] = []
        self._bytes = 0
        self._unseen: set[int] = set()
        self._digest = RollingDigest()
        self.overflowed = False

    def __len__(self) -> int:
        """Returns the number of requests."""
        return len(self._requests)

    def copy(self) -> RequestLog:
        """Returns an independent copy."""
        clone = copy.copy(self)
        clone._requests, clone._unseen = list(self._requests), set(self._unseen)
        clone._digest = self._digest.copy()
        return clone

    def add(self, request: bytes, answer: Digested | None) -> None:
        """Appends a request and the digest input of its answer; None if the client did not receive the answer."""
        self._bytes += memory_of(request)
        if len(self._requests) >= self._limit or self._bytes > MAX_BYTES or self.overflowed:
            self.overflowed = True
            self._requests.clear()
            return
        if answer is None:
            self._unseen.add(len(self._requests))
        self._digest.add_digested(answer)
        self._requests.append(request)

    def lasting(self) -> RequestLog:
        """Returns a log with only the requests that set attributes or called methods."""
        kept = RequestLog(self._limit)
        kept.overflowed = self.overflowed
        for each in self._requests:
            if REQUESTS.kind(each) in KEPT:
                kept.add(each, None)
        return kept

    def part(self, position: int, body: pb.ReplayRequest) -> None:
        """Writes the requests from `position` on, as many as go into one message."""
        body.position = position
        body.requests.extend(one_part(self._requests[position:]))
        end = position + len(body.requests)
        body.unseen.extend(sorted(each for each in self._unseen if position <= each < end))

    def check(self, position: int, answer: pb.ReplayResponse) -> None:
        """Compares the digest of the new environment's answers with the recorded one.

        Raises:
            ReplayMismatchError: They differ.
        """
        first = position // CHECKPOINT
        expected = self._digest.checkpoints[first : answer.served // CHECKPOINT]
        for index, (ours, theirs) in enumerate(zip(expected, answer.checkpoints, strict=False)):
            if ours != theirs:
                raise mismatch((first + index) * CHECKPOINT, (first + index + 1) * CHECKPOINT)
        if len(expected) != len(answer.checkpoints):
            raise mismatch(position, answer.served)
        if answer.served == len(self) and answer.digest != self._digest.value():
            raise mismatch(len(self) // CHECKPOINT * CHECKPOINT, len(self))


def outlasts_episodes(raw: bytes) -> bool:
    """Returns whether a request's effects outlast the episode; a seed's effect is `np_random_seed`."""
    kind = REQUESTS.kind(raw)
    seeded = kind == "reset" and pb.InteractRequest.FromString(raw).reset.HasField("seed")
    return kind in KEPT or seeded


def one_part(requests: Iterable[bytes]) -> Iterator[bytes]:
    """Yields as many requests as fit into one message, without their numbers."""
    total = 0
    for raw in requests:
        total += len(raw)
        if total > _PART_BYTES and total > len(raw):
            return
        request = pb.InteractRequest.FromString(raw)
        getattr(request, request.WhichOneof("request") or "").ClearField("sequence")
        if request.HasField("step"):
            request.step.ClearField("ahead")
        yield request.SerializeToString()


def memory_of(request: bytes) -> int:
    """Returns the bytes of memory that a request takes in a log."""
    return len(request) + _OVERHEAD_BYTES


def mismatch(first: int, end: int) -> ReplayMismatchError:
    """Returns the error for a replay that differs in the answers to requests `first` up to `end`."""
    error = ReplayMismatchError(
        f"the replayed environment went another way: its answers to requests {first + 1} to {end} since the last reset "
        "with a seed differ from those of the lost one. It is not deterministic, or was made in another version; "
        "reset() starts over"
    )
    error.first, error.last = first + 1, end
    return error
