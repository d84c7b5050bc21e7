"""Ways to misbehave."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from google.protobuf.duration_pb2 import Duration

from envwire.codec import FaultError, Reason, encode_fault
from envwire.conformance.proxy import Behaviour, CutError, Via
from envwire.v1 import direct_pb2, status_pb2
from envwire.v1 import environment_pb2 as pb

_FIRST_AFTER_THE_CUT = 2
#: A field that no message has: number 1000, a text.
UNKNOWN_FIELD = b"\xc2\x3e\x03new"


class Staged(Behaviour):
    """Behaves as another one does, which can be exchanged while a scenario is played.

    Attributes:
        now: The other one; it behaves well until it is exchanged.
    """

    def __init__(self) -> None:
        self.now = Behaviour()

    def serve(self, request: pb.InteractRequest, via: Via) -> pb.InteractResponse:
        """Serves a request as the present one does."""
        return self.now.serve(request, via)


class Counting(Behaviour):
    """Counts the requests of a kind.

    Attributes:
        seen: How many there were.
        sessions: Ids of the sessions that were made.
    """

    kind = "step"

    def __init__(self) -> None:
        self.seen = 0
        self.sessions: set[str] = set()

    def serve(self, request: pb.InteractRequest, via: Via) -> pb.InteractResponse:
        """Counts a request."""
        if request.WhichOneof("request") != self.kind:
            return via.forward(request)
        self.seen += 1
        response = self.misbehave(self.seen, request, via)
        if response.HasField("make"):
            self.sessions.add(response.make.session_id)
        return response

    def misbehave(self, seen: int, request: pb.InteractRequest, via: Via) -> pb.InteractResponse:
        """Answers the request that is the nth of its kind."""
        del seen
        return via.forward(request)


class CutBefore(Counting):
    """Cuts the connection when a request arrives, before it is served."""

    at: frozenset[int] = frozenset({3})

    def misbehave(self, seen: int, request: pb.InteractRequest, via: Via) -> pb.InteractResponse:
        """Cuts, or serves."""
        if seen in self.at:
            raise CutError
        return via.forward(request)


class CutAfter(CutBefore):
    """Serves a request, and cuts the connection before it is answered."""

    def misbehave(self, seen: int, request: pb.InteractRequest, via: Via) -> pb.InteractResponse:
        """Serves, and cuts or answers."""
        response = via.forward(request)
        if seen in self.at:
            raise CutError
        return response


def cutting(kind: str, *at: int, after: bool) -> Callable[[], Behaviour]:
    """Returns what makes a behaviour that cuts at the nth requests of a kind."""

    def make() -> Behaviour:
        behaviour = CutAfter() if after else CutBefore()
        behaviour.kind, behaviour.at = kind, frozenset(at)
        return behaviour

    return make


class Duplicating(Counting):
    """Sends every step on twice, as a network may."""

    def misbehave(self, seen: int, request: pb.InteractRequest, via: Via) -> pb.InteractResponse:
        """Serves twice."""
        del seen
        via.forward(request)
        return via.forward(request)


class Late(Counting):
    """Answers every third step late."""

    def misbehave(self, seen: int, request: pb.InteractRequest, via: Via) -> pb.InteractResponse:
        """Serves, and waits before some answers."""
        response = via.forward(request)
        if seen % 3 == 0:
            time.sleep(0.7)
        return response


class Refusing(Counting):
    """Answers the nth request of a kind, and those behind it, with an error."""

    def __init__(
        self, status: status_pb2.ErrorStatus, kind: str = "step", first: int = 1, last: int = 10**9
    ) -> None:
        super().__init__()
        self.status, self.kind, self.first, self.last = status, kind, first, last

    def misbehave(self, seen: int, request: pb.InteractRequest, via: Via) -> pb.InteractResponse:
        """Refuses, or serves."""
        if self.first <= seen <= self.last:
            return pb.InteractResponse(error=self.status)
        return via.forward(request)


class Ended(Behaviour):
    """Answers every request of a session with the reason of its end."""

    def __init__(self, status: status_pb2.ErrorStatus) -> None:
        self.status = status

    def serve(self, request: pb.InteractRequest, via: Via) -> pb.InteractResponse:
        """Refuses what has a header."""
        message = getattr(request, request.WhichOneof("request") or "")
        if "header" in message.DESCRIPTOR.fields_by_name:
            return pb.InteractResponse(error=self.status)
        return via.forward(request)


def fault(reason: Reason, retry_after: float | None = None) -> status_pb2.ErrorStatus:
    """Returns an error as a server sends it."""
    status = status_pb2.ErrorStatus()
    text = f"a server says {reason.value}"
    encode_fault(FaultError(reason, text, retry_after=retry_after), status)
    return status


class Odd(Behaviour):
    """Adds to answers what a later version may add."""

    def serve(self, request: pb.InteractRequest, via: Via) -> pb.InteractResponse:
        """Adds a field to each message."""
        response = via.forward(request)
        kind = response.WhichOneof("response")
        if kind and kind != "error":
            getattr(response, kind).MergeFromString(UNKNOWN_FIELD)
        response.MergeFromString(UNKNOWN_FIELD)
        return response


class Noticing(Behaviour):
    """Sends notices beside answers: that it drains, and one of a kind that nobody knows."""

    def serve(self, request: pb.InteractRequest, via: Via) -> pb.InteractResponse:
        """Adds two notices."""
        response = via.forward(request)
        response.notices.add().MergeFromString(b"\x08\x63")
        response.notices.add(kind=status_pb2.Notice.KIND_DRAINING, time_left=Duration(seconds=600))
        return response


class Addressing(Behaviour):
    """Names addresses of direct channels where nobody is, or whose form nobody knows, before the right one."""

    ADDRESSES = ("carrier-pigeon:coop", "127.0.0.1:1")

    def serve(self, request: pb.InteractRequest, via: Via) -> pb.InteractResponse:
        """Changes the addresses of a session."""
        response = via.forward(request)
        if response.HasField("make"):
            right = list(response.make.direct.addresses)
            del response.make.direct.addresses[:]
            response.make.direct.addresses.extend([*self.ADDRESSES, *right])
        return response


class Splitting(Behaviour):
    """Sends frames of a direct channel in pieces of seven bytes."""

    def frames(self, frame: bytes) -> list[bytes]:
        """Returns the pieces of a frame."""
        return [frame[start : start + 7] for start in range(0, len(frame), 7)]


class Unreachable(Addressing):
    """Names addresses of direct channels where nobody is, and no others."""

    def serve(self, request: pb.InteractRequest, via: Via) -> pb.InteractResponse:
        """Changes the addresses of a session."""
        response = via.forward(request)
        if response.HasField("make"):
            del response.make.direct.addresses[:]
            response.make.direct.addresses.extend(self.ADDRESSES)
        return response


class Advertising(Behaviour):
    """Advertises an address where nobody is."""

    def serve(self, request: pb.InteractRequest, via: Via) -> pb.InteractResponse:
        """Changes the address of a session."""
        response = via.forward(request)
        if response.HasField("make"):
            response.make.address = "127.0.0.1:1"
        return response


class Out(Behaviour):
    """Cuts every connection for a while, from when `begin` is called."""

    def __init__(self) -> None:
        self._until = 0.0

    def begin(self, seconds: float) -> None:
        """Cuts from now on."""
        self._until = time.monotonic() + seconds

    def serve(self, request: pb.InteractRequest, via: Via) -> pb.InteractResponse:
        """Cuts, or serves."""
        if time.monotonic() < self._until:
            raise CutError
        return via.forward(request)


class Busy(CutAfter):
    """Cuts a direct channel behind a step, and answers the next hello only when there is another one."""

    _PATIENCE = 25.0

    def __init__(self) -> None:
        super().__init__()
        self._hellos = 0
        self._another = threading.Event()

    @property
    def given_up(self) -> bool:
        """Whether the client did not wait for ever."""
        return self._another.is_set()

    def greet(self, answer: direct_pb2.HelloResponse) -> direct_pb2.HelloResponse:
        """Keeps the second hello waiting."""
        self._hellos += 1
        if self._hellos == _FIRST_AFTER_THE_CUT:
            self._another.wait(self._PATIENCE)
        elif self._hellos > _FIRST_AFTER_THE_CUT:
            self._another.set()
        return answer
