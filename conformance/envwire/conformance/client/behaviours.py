"""The ways in which a server misbehaves."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from google.protobuf.duration_pb2 import Duration

from envwire.codec import FaultError, Reason, encode_fault
from envwire.conformance.proxy import Behaviour, CutError, Upstream
from envwire.conformance.raw.values import UNKNOWN_FIELD
from envwire.v1 import direct_pb2, status_pb2
from envwire.v1 import environment_pb2 as pb

_FIRST_AFTER_THE_CUT = 2


class Replaceable(Behaviour):
    """Delegates to another behaviour, which can be replaced during a scenario.

    Attributes:
        now: The current behaviour; a correct one at first.
    """

    def __init__(self) -> None:
        self.now = Behaviour()

    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        """Serves a request by the current behaviour."""
        return self.now.serve(request, upstream)


class Counting(Behaviour):
    """Counts the requests of one kind.

    Attributes:
        seen: Number of these requests so far.
        sessions: Ids of the sessions that were made.
    """

    kind = "step"

    def __init__(self) -> None:
        self.seen = 0
        self.sessions: set[str] = set()

    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        """Counts a request."""
        if request.WhichOneof("request") != self.kind:
            return upstream.forward(request)
        self.seen += 1
        response = self.misbehave(self.seen, request, upstream)
        if response.HasField("make"):
            self.sessions.add(response.make.session_id)
        return response

    def misbehave(
        self, seen: int, request: pb.InteractRequest, upstream: Upstream
    ) -> pb.InteractResponse:
        """Answers the nth request of the kind; `seen` is n."""
        del seen
        return upstream.forward(request)


class CutBefore(Counting):
    """Cuts the connection when a request arrives, before it is served."""

    at: frozenset[int] = frozenset({3})
    serves_first = False

    def misbehave(
        self, seen: int, request: pb.InteractRequest, upstream: Upstream
    ) -> pb.InteractResponse:
        """Cuts, or serves."""
        if seen not in self.at:
            return upstream.forward(request)
        if self.serves_first:
            upstream.forward(request)
        raise CutError


class CutAfter(CutBefore):
    """Serves a request, then cuts the connection before the answer."""

    serves_first = True


def cutting(kind: str, *at: int, after: bool) -> Callable[[], Behaviour]:
    """Returns a factory of behaviours that cut at the nth requests of a kind."""

    def make() -> Behaviour:
        behaviour = CutAfter() if after else CutBefore()
        behaviour.kind, behaviour.at = kind, frozenset(at)
        return behaviour

    return make


class Duplicating(Counting):
    """Forwards every step twice, as a network may."""

    def misbehave(
        self, seen: int, request: pb.InteractRequest, upstream: Upstream
    ) -> pb.InteractResponse:
        """Serves twice."""
        del seen
        upstream.forward(request)
        return upstream.forward(request)


class LateAnswers(Counting):
    """Answers every third step late."""

    def misbehave(
        self, seen: int, request: pb.InteractRequest, upstream: Upstream
    ) -> pb.InteractResponse:
        """Serves, and waits before some answers."""
        response = upstream.forward(request)
        if seen % 3 == 0:
            time.sleep(0.7)
        return response


class Refusing(Counting):
    """Answers the nth request of a kind, and later ones, with an error."""

    def __init__(
        self, status: status_pb2.ErrorStatus, kind: str = "step", first: int = 1, last: int = 10**9
    ) -> None:
        super().__init__()
        self.status, self.kind, self.first, self.last = status, kind, first, last

    def misbehave(
        self, seen: int, request: pb.InteractRequest, upstream: Upstream
    ) -> pb.InteractResponse:
        """Refuses, or serves."""
        if self.first <= seen <= self.last:
            return pb.InteractResponse(error=self.status)
        return upstream.forward(request)


class SessionEnded(Behaviour):
    """Answers every request of a session with the error of an ended session."""

    def __init__(self, status: status_pb2.ErrorStatus) -> None:
        self.status = status

    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        """Refuses requests with a session header."""
        message = getattr(request, request.WhichOneof("request") or "")
        if "header" in message.DESCRIPTOR.fields_by_name:
            return pb.InteractResponse(error=self.status)
        return upstream.forward(request)


def fault(reason: Reason, retry_after: float | None = None) -> status_pb2.ErrorStatus:
    """Returns an error in the form in which servers send it."""
    status = status_pb2.ErrorStatus()
    text = f"a server says {reason.value}"
    encode_fault(FaultError(reason, text, retry_after=retry_after), status)
    return status


class UnknownFields(Behaviour):
    """Adds unknown fields to answers, as a later version of the protocol may."""

    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        """Adds a field to each message."""
        response = upstream.forward(request)
        kind = response.WhichOneof("response")
        if kind and kind != "error":
            getattr(response, kind).MergeFromString(UNKNOWN_FIELD)
        response.MergeFromString(UNKNOWN_FIELD)
        return response


class WithNotices(Behaviour):
    """Attaches notices to answers: that it is draining, and one of an unknown kind."""

    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        """Adds two notices."""
        response = upstream.forward(request)
        response.notices.add().MergeFromString(b"\x08\x63")
        response.notices.add(kind=status_pb2.Notice.KIND_DRAINING, time_left=Duration(seconds=600))
        return response


class DeadAddressesFirst(Behaviour):
    """Offers direct-channel addresses without a listener, or of unknown form, before the right one."""

    ADDRESSES = ("carrier-pigeon:coop", "127.0.0.1:1")
    offers_right_one = True

    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        """Changes the addresses in the answer to a Make."""
        response = upstream.forward(request)
        if response.HasField("make"):
            right = list(response.make.direct.addresses) if self.offers_right_one else []
            response.make.direct.addresses[:] = [*self.ADDRESSES, *right]
        return response


class Certified(Counting):
    """Has a certificate for 127.0.0.1, and counts the requests to make an environment."""

    kind, tls = "make", True


class CertifiedElsewhere(Certified):
    """Has that certificate at another address."""

    host = "127.0.0.2"


class NamesEntryPoints(Behaviour):
    """Names a module of Python that prints when it is imported, as the place of the environment and a wrapper."""

    ENTRY_POINT = "this:s"

    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        """Changes the specification in the answer to a Make."""
        response = upstream.forward(request)
        if response.HasField("make"):
            spec = response.make.spec
            spec.entry_point = spec.vector_entry_point = self.ENTRY_POINT
            spec.additional_wrappers.add(name="s", entry_point=self.ENTRY_POINT)
        return response


class SplitsFrames(Behaviour):
    """Sends the frames of direct channels in pieces of seven bytes."""

    def frames(self, frame: bytes) -> list[bytes]:
        """Returns the pieces of a frame."""
        return [frame[start : start + 7] for start in range(0, len(frame), 7)]


class DeadAddressesOnly(DeadAddressesFirst):
    """Offers only direct-channel addresses without a listener."""

    offers_right_one = False


class AdvertisesDeadAddress(Behaviour):
    """Advertises an address without a listener."""

    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        """Changes the advertised address in the answer to a Make."""
        response = upstream.forward(request)
        if response.HasField("make"):
            response.make.address = "127.0.0.1:1"
        return response


class Outage(Behaviour):
    """Simulates an outage: after `begin`, cuts every connection for a while."""

    def __init__(self) -> None:
        self._until = 0.0

    def begin(self, seconds: float) -> None:
        """Begins the outage."""
        self._until = time.monotonic() + seconds

    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        """Cuts, or serves."""
        if time.monotonic() < self._until:
            raise CutError
        return upstream.forward(request)


class Busy(CutAfter):
    """Cuts a direct channel after a step, and answers the next hello only once another one arrives."""

    _PATIENCE = 25.0

    def __init__(self) -> None:
        super().__init__()
        self._hellos = 0
        self._another = threading.Event()

    @property
    def given_up(self) -> bool:
        """Whether the client gave up on the hello that was not answered."""
        return self._another.is_set()

    def greet(self, answer: direct_pb2.HelloResponse) -> direct_pb2.HelloResponse:
        """Delays the answer to the second hello."""
        self._hellos += 1
        if self._hellos == _FIRST_AFTER_THE_CUT:
            self._another.wait(self._PATIENCE)
        elif self._hellos > _FIRST_AFTER_THE_CUT:
            self._another.set()
        return answer
