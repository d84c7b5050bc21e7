"""Request logs: recorded requests in order, with a digest of their answers.

Members' episodes of a vector environment begin at different requests. Its log starts with the earliest one, and a
replay adds each member at the start of its own episode: `MemberStart` holds that position, and the state of the
member's generator before it. Answers are compared from the first request in which all members take part. At least one
block of requests has to be compared, so a member whose current episode began too recently starts with an earlier one.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from envwire.client.errors import ReplayMismatchError
from envwire.codec.digests import CHECKPOINT, Digested, RollingDigest
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import spaces_pb2
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
        limit: Most requests in the log.
        max_bytes: Most bytes in the log.

    Attributes:
        overflowed: Whether there were more requests, so that the log cannot be replayed.
    """

    def __init__(self, limit: int, max_bytes: int = MAX_BYTES) -> None:
        self._limit = limit
        self._max_bytes = max_bytes
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
        if len(self._requests) >= self._limit or self._bytes > self._max_bytes or self.overflowed:
            self.overflowed = True
            self._requests.clear()
            return
        if answer is None:
            self._unseen.add(len(self._requests))
        self._digest.add_digested(answer)
        self._requests.append(request)

    def lasting(self) -> RequestLog:
        """Returns a log with only the requests that set attributes or called methods."""
        kept = RequestLog(self._limit, self._max_bytes)
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


#: For each member that was reset, the state of its generator before; None if the reset was seeded.
Starts = Mapping[int, "spaces_pb2.RandomState | None"]


class _Start(NamedTuple):
    """A reset at which a replay can add a member."""

    position: int
    np_random: spaces_pb2.RandomState | None


@dataclass
class _Proof:
    """The digest of all answers from a position on."""

    begin: int
    digest: RollingDigest = field(default_factory=RollingDigest)


class MemberRequestLog:
    """Requests to a vector environment since its members' current episodes began. Positions count all requests.

    Args:
        size: Number of members.
        limit: Most requests in the log. When there are more, it starts over with the next episodes.
        lasting: The requests whose effects outlast episodes; they precede the others.
        max_bytes: Most bytes in the log, besides those.
    """

    def __init__(
        self, size: int, limit: int, lasting: RequestLog, max_bytes: int = MAX_BYTES
    ) -> None:
        self._limit = limit
        self._max_bytes = max_bytes
        self._block = min(CHECKPOINT, max(1, limit // 4))
        self._lasting = lasting
        self._requests: deque[bytes] = deque()
        self._first = 0
        self._bytes = 0
        self._unseen: deque[int] = deque()
        self._starts: list[deque[_Start]] = [deque() for _ in range(size)]
        self._proofs = deque([_Proof(0)])

    @property
    def _end(self) -> int:
        return self._first + len(self._requests)

    def __len__(self) -> int:
        """Returns the number of requests that a replay would repeat."""
        return len(self._lasting) + len(self._requests)

    def unknown(self) -> list[int]:
        """Returns the members that cannot be replayed, because the log has no reset from which they could start."""
        begin = self._proofs[0].begin
        return [
            index
            for index, starts in enumerate(self._starts)
            if not starts or starts[0].position >= begin
        ]

    @property
    def overflowed(self) -> bool:
        """Whether the log cannot be replayed at present."""
        return self._lasting.overflowed or bool(self.unknown())

    def add(self, request: bytes, answer: Digested | None, starts: Starts) -> None:
        """Appends a request.

        Args:
            request: The request.
            answer: The digest input of its answer; None if the client did not receive the answer.
            starts: The members that it reset.
        """
        for index, state in starts.items():
            self._starts[index].append(_Start(self._end, state))
        for proof in self._proofs:
            proof.digest.add_digested(answer)
        if answer is None:
            self._unseen.append(self._end)
        self._requests.append(request)
        self._bytes += memory_of(request)
        if self._end - self._proofs[-1].begin >= self._block:
            self._begin_proof()
        if len(self) > self._limit or self._bytes > self._max_bytes:
            self._begin_again()

    def _begin_proof(self) -> None:
        """Begins another digest, so that the older of the two always covers at least one block of answers."""
        self._proofs.append(_Proof(self._end))
        if len(self._proofs) > 2:
            self._proofs.popleft()
        begin = self._proofs[0].begin
        for starts in self._starts:
            while len(starts) > 1 and starts[1].position < begin:
                starts.popleft()
        self._forget(min(starts[0].position if starts else self._end for starts in self._starts))

    def _begin_again(self) -> None:
        self._forget(self._end)
        for starts in self._starts:
            starts.clear()
        self._proofs = deque([_Proof(self._end)])

    def _forget(self, begin: int) -> None:
        """Drops the requests before a position, except those whose effects outlast episodes."""
        while self._first < begin:
            request = self._requests.popleft()
            self._first += 1
            self._bytes -= memory_of(request)
            if outlasts_episodes(request):
                self._lasting.add(request, None)
        while self._unseen and self._unseen[0] < begin:
            self._unseen.popleft()

    def part(self, position: int, body: pb.ReplayRequest) -> None:
        """Writes the requests from `position` on, as many as go into one message."""
        ahead = len(self._lasting)
        if position < ahead:
            self._lasting.part(position, body)
            return
        body.position = position
        body.requests.extend(one_part(islice(self._requests, position - ahead, None)))
        if position == ahead:
            body.member_starts.extend(self._member_starts(ahead))
        seen_from, offset = self._proofs[0].begin, self._first - ahead
        first, end = position + offset, position + offset + len(body.requests)
        body.unseen.extend(range(position, min(end, seen_from) - offset))
        body.unseen.extend(
            each - offset for each in self._unseen if max(first, seen_from) <= each < end
        )

    def _member_starts(self, ahead: int) -> list[pb.MemberStart]:
        return [
            pb.MemberStart(
                member=index,
                position=ahead + starts[0].position - self._first,
                np_random=starts[0].np_random,
            )
            for index, starts in enumerate(self._starts)
        ]

    def check(self, position: int, answer: pb.ReplayResponse) -> None:
        """Compares the digest of the new environment's answers with the recorded one.

        Raises:
            ReplayMismatchError: They differ.
        """
        proof = self._proofs[0]
        if answer.served == len(self) and answer.digest != proof.digest.value():
            raise mismatch(max(position, len(self) - proof.digest.count), len(self))
