"""What an environment was asked since it was made, and a digest of what it answered: enough to get there again.

Only what changes an environment is recorded. A reset with a seed begins the recording anew: what attributes were set to
and which methods were called before is kept, the steps are not.
"""

from __future__ import annotations

from collections.abc import Iterator

from envwire.client._session.chunk_recording import split_chunk
from envwire.client._session.resuming import ResumingTransport
from envwire.client._transports.transport import Transport
from envwire.client.errors import ReplayError, ReplayMismatchError
from envwire.codec import Reason, decode_fault, decode_value, envwire_family
from envwire.codec.digests import CHECKPOINT, RollingDigest
from envwire.envs.type_guards import is_tuple_or_list
from envwire.v1 import environment_pb2 as pb
from envwire.wire.envelope import answers_chunk
from envwire.wire.frames import Reply
from envwire.wire.varints import LENGTH_DELIMITED, tag

#: Bytes of requests in one message; more go in further messages.
_PART_BYTES = 1024 * 1024
#: The option that says which members of a vector environment are reset.
RESET_MASK = "reset_mask"
#: Gymnasium's modes that collect frames: rendering empties the collection, which changes the environment.
_COLLECTING = "_list"

_KEPT = ("set_attribute", "call_method")
_RECORDED = ("reset", "step", "save_state", "restore_state", *_KEPT)
_KINDS = {
    tag(pb.InteractRequest, name, LENGTH_DELIMITED)[0]: name for name in (*_RECORDED, "render")
}
_ERROR = tag(pb.InteractResponse, "error", LENGTH_DELIMITED)[0]
#: Errors of requests that reached the environment, or would again be refused before they do.
_SERVED = frozenset(
    {
        Reason.ATTRIBUTE_MISSING,
        Reason.ATTRIBUTE_NOT_ALLOWED,
        Reason.ENVIRONMENT_RAISED,
        Reason.INTERNAL,
        Reason.INVALID_ACTION,
        Reason.INVALID_VALUE,
        Reason.MESSAGE_TOO_LARGE,
        Reason.RESET_NEEDED,
        Reason.UNSUPPORTED,
    }
)


class Recording:
    """The recording of one environment, whatever sessions it lives in.

    Args:
        limit: How many requests are recorded at most.
        render_mode: The environment's render mode.

    Attributes:
        rooted: Whether it began from a seed, or from a known state of the generator.
        overflowed: Whether there were more requests than are recorded: nothing can be replayed then.
    """

    def __init__(self, limit: int, render_mode: str | None = None) -> None:
        self._limit = limit
        self._renders = render_mode is not None and render_mode.endswith(_COLLECTING)
        self.begin()

    def begin(self) -> None:
        """Forgets everything: the environment is a new one."""
        self._requests: list[bytes] = []
        self._unseen: set[int] = set()
        self._digest = RollingDigest()
        self._doubtful: bytes | None = None
        self._saves = False
        self.rooted = False
        self.overflowed = False

    def __len__(self) -> int:
        """Returns how many requests are recorded."""
        return len(self._requests)

    def copy(self) -> Recording:
        """Returns a recording of the same requests that goes on by itself."""
        twin = Recording(self._limit)
        twin.__dict__.update(self.__dict__)
        twin._requests, twin._unseen = list(self._requests), set(self._unseen)
        twin._digest = self._digest.copy()
        return twin

    def become(self, other: Recording) -> None:
        """Goes on as a copy of another recording."""
        self.__dict__.update(other.copy().__dict__)

    def doubt(self, request: bytes) -> None:
        """Takes a request that got no answer: the next answer tells whether it was served."""
        self._doubtful = request if request[0] in _KINDS else None

    def settle(self) -> None:
        """Notes that the session which left a request unanswered is no more."""
        self._doubtful = None

    def note(self, request: bytes, reply: Reply) -> None:
        """Takes a request and its answer."""
        reason = _reason(reply)
        doubtful, self._doubtful = self._doubtful, None
        if doubtful is not None and reason is not Reason.SEQUENCE_GAP:
            self._append(doubtful, None)
        kind = _KINDS.get(request[0])
        if kind is None or (reason is not None and reason not in _SERVED):
            return
        if kind == "render":
            if self._renders:
                self._append(request, None)
            return
        if kind == "reset" and reason is None:
            self._reset(pb.InteractRequest.FromString(request).reset)
        if kind == "step" and reason is None and answers_chunk(reply.message):
            for each in split_chunk(request, reply):
                self._append(*each)
            return
        self._saves = self._saves or kind == "save_state"
        # An answer that was too large to send counts for nothing: where it is not sent, it is not too large.
        self._append(request, None if reason is Reason.MESSAGE_TOO_LARGE else reply)

    def _reset(self, request: pb.ResetRequest) -> None:
        # States that were saved are to be found again, so everything has to happen again.
        seeded = _seeds_all(request)
        if seeded and not self._saves:
            kept = [each for each in self._requests if _KINDS[each[0]] in _KEPT]
            self.begin()
            for each in kept:
                self._append(each, None)
        if seeded or request.HasField("np_random"):
            self.rooted = True

    def _append(self, request: bytes, reply: Reply | None) -> None:
        if len(self._requests) >= self._limit or self.overflowed:
            self.overflowed = True
            self._requests.clear()
            return
        if reply is None:
            self._unseen.add(len(self._requests))
            self._digest.add(None)
        else:
            self._digest.add(*reply)
        self._requests.append(request)

    def check_whole(self, loss: Exception) -> None:
        """Refuses to replay a part.

        Raises:
            ReplayError: There were more requests than are recorded.
        """
        if self.overflowed:
            raise ReplayError(
                f"{loss}. It cannot be replayed: there were more than replay_limit={self._limit} requests since the "
                "last reset with a seed. Pass a larger replay_limit=, or a seed to reset() now and then"
            ) from loss

    def part(self, position: int, body: pb.ReplayRequest) -> None:
        """Writes the requests from `position` on, as many as go into one message."""
        body.position = position
        for request in self._bare(position):
            body.requests.append(request)
        end = position + len(body.requests)
        body.unseen.extend(sorted(each for each in self._unseen if position <= each < end))

    def _bare(self, position: int) -> Iterator[bytes]:
        """Yields requests without the number that they had in their session."""
        total = 0
        for raw in self._requests[position:]:
            total += len(raw)
            if total > _PART_BYTES and total > len(raw):
                return
            request = pb.InteractRequest.FromString(raw)
            getattr(request, request.WhichOneof("request") or "").ClearField("sequence")
            yield request.SerializeToString()

    def check(self, position: int, answer: pb.ReplayResponse) -> None:
        """Compares what the new environment answered with what the lost one did.

        Raises:
            ReplayMismatchError: They differ.
        """
        first = position // CHECKPOINT
        expected = self._digest.checkpoints[first : answer.served // CHECKPOINT]
        for index, (ours, theirs) in enumerate(zip(expected, answer.checkpoints, strict=False)):
            if ours != theirs:
                raise _mismatch((first + index) * CHECKPOINT, (first + index + 1) * CHECKPOINT)
        if len(expected) != len(answer.checkpoints):
            raise _mismatch(position, answer.served)
        if answer.served == len(self) and answer.digest != self._digest.value():
            raise _mismatch(len(self) // CHECKPOINT * CHECKPOINT, len(self))


def _seeds_all(request: pb.ResetRequest) -> bool:
    """Tells whether nothing that came before a reset matters: in a vector environment it may leave members out."""
    if not request.HasField("seed") or any(
        entry.name == RESET_MASK for entry in request.options.entries
    ):
        return False
    seed = decode_value(request.seed, envwire_family())
    return not is_tuple_or_list(seed) or None not in seed


def _reason(reply: Reply) -> Reason | None:
    if reply.message[:1] != bytes((_ERROR,)):
        return None
    error = pb.InteractResponse.FromString(reply.message).error
    return decode_fault(error, envwire_family()).reason


def _mismatch(first: int, end: int) -> ReplayMismatchError:
    error = ReplayMismatchError(
        f"the replayed environment went another way: its answers to requests {first + 1} to {end} since the last reset "
        "with a seed are not those of the lost one. It is not deterministic, or was made in another version; reset() "
        "begins anew"
    )
    error.first, error.last = first + 1, end
    return error


class RecordingTransport(ResumingTransport):
    """A transport that outlives its connection, and records what goes over it.

    Args:
        transport: Makes the connections.
        label: Names the session in the log.
        recording: Takes requests and answers.
    """

    def __init__(self, transport: Transport, label: str, recording: Recording) -> None:
        super().__init__(transport, label)
        self._recording = recording

    def exchange(self, request: bytes, timeout: float) -> Reply:
        """Sends a request, again if need be, and returns its reply (see `Transport.exchange`)."""
        try:
            reply = super().exchange(request, timeout)
        except BaseException:
            self._recording.doubt(request)
            raise
        self._recording.note(request, reply)
        return reply

    def receive(self) -> Reply:
        """Returns the reply to what was sent, and sends it again if need be (see `Transport.receive`)."""
        try:
            reply = super().receive()
        except BaseException:
            self._recording.doubt(self._request)
            raise
        self._recording.note(self._request, reply)
        return reply
