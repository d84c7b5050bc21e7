"""What a check works with: sessions, links and the server's info. All of it is closed when the check ends."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import grpc

from envwire.conformance.outcomes import FailedError, SkippedError
from envwire.conformance.raw import (
    Access,
    Answer,
    DirectLink,
    Grpc,
    Link,
    Session,
    StreamLink,
    Trace,
    UnaryLink,
)
from envwire.v1 import environment_pb2 as pb

if TYPE_CHECKING:
    from typing_extensions import Self

#: Deadline of a stream, which lives as long as its check, in seconds.
_STREAM_SECONDS = 120.0
#: Interval at which an expected condition is polled, in seconds.
_POLL_SECONDS = 0.05

#: Short names of environments that a server which conforms may leave out.
_OPTIONAL = frozenset({"Crash", "Odd"})


class CheckContext:
    """The surroundings of one check.

    Args:
        access: How to reach the server.
        info: The server's GetServerInfo answer.
        link: The link over which the check runs.
        seconds: Longest wait, in seconds.
        seed: Seed of `random`.
        environments: Ids of the suite's environments, by short name: {"Counter": "Conformance/Counter-v0"}.

    Attributes:
        random: Generator for random choices in checks.
        missing: Id of an environment that the server does not make, though it has to; empty if it makes all.
        trace: Records what is sent and received.
        unary: The link for unary calls.
    """

    def __init__(
        self,
        access: Access,
        info: pb.GetServerInfoResponse,
        *,
        link: str = "unary",
        seconds: float = 10.0,
        seed: int = 0,
        environments: dict[str, str] | None = None,
    ) -> None:
        self.access = access
        self.info = info
        self.seconds = seconds
        self.random = random.Random(seed)  # noqa: S311 - not for secrets
        self.trace = Trace()
        self._link = link
        self._environments = environments or {}
        self._open = ExitStack()
        self._made: set[str] = set()
        self._asked_for = ""
        self.missing = ""
        self._grpc = Grpc(access, self.trace)
        self._open.callback(self._grpc.close)
        self.unary = UnaryLink(self._grpc)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def env_id(self, name: str) -> str:
        """Returns the id of one of the suite's environments, by its short name."""
        return self._environments.get(name, f"Conformance/{name}-v0")

    def ask(self, kind: str, **fields: Any) -> Answer:
        """Sends a request without a session, as a unary call."""
        request = pb.InteractRequest()
        message = getattr(request, kind)
        message.SetInParent()
        message.MergeFrom(type(message)(**fields))
        return self.unary.exchange(request, self.seconds)

    def make_request(self, name: str = "Counter", **fields: Any) -> pb.MakeRequest:
        """Returns a `Make` for one of the suite's environments."""
        self._asked_for = name
        return pb.MakeRequest(env_id=self.env_id(name), **fields)

    def make(self, name: str = "Counter", **fields: Any) -> Session:
        """Makes a session, with a link of the check's kind.

        Raises:
            SkippedError: The server does not make this environment.
            FailedError: It fails otherwise.
        """
        made = self.made(self.ask_make(name, **fields))
        return self.attach(made, self.link_to(made))

    def start(self, name: str = "Counter", seed: int = 1, **fields: Any) -> Session:
        """Makes a session as `make` does, and resets it."""
        session = self.make(name, **fields)
        session.reset(seed)
        return session

    def ask_make(self, name: str = "Counter", **fields: Any) -> Answer:
        """Sends a `Make`, and returns the answer; a session that is made ends with the check."""
        request = pb.InteractRequest(make=self.make_request(name, **fields))
        answer = self.unary.exchange(request, max(self.seconds, 60.0))
        if answer.kind == "make":
            self._end_later(answer.response.make)
        return answer

    def made(self, answer: Answer) -> pb.MakeResponse:
        """Returns the answer to a successful `Make`, whose session ends with the check.

        Raises:
            SkippedError: The server does not make this environment.
            FailedError: It failed otherwise.
        """
        if answer.info.reason == "UNKNOWN_ENVIRONMENT":
            if self._asked_for not in {"", *_OPTIONAL}:
                self.missing = self.env_id(self._asked_for)
            raise SkippedError(f"no such environment: {answer.response.error.message}")
        made: pb.MakeResponse = answer.of("make")
        self._end_later(made)
        return made

    def _end_later(self, made: pb.MakeResponse) -> None:
        if made.session_id not in self._made:
            self._made.add(made.session_id)
            self._open.callback(self._end, made)

    def _end(self, made: pb.MakeResponse) -> None:
        header = pb.SessionHeader(session_id=made.session_id, secret=made.secret)
        request = pb.CloseRequest(header=header, sequence=2**62)  # Close works with any number
        with suppress(grpc.RpcError):
            self._grpc.call("Close", request.SerializeToString(), self.seconds)

    def attach(self, made: pb.MakeResponse, link: Link) -> Session:
        """Returns a session over a link."""
        return Session(made, link, self.seconds)

    def link_to(self, made: pb.MakeResponse, kind: str | None = None) -> Link:
        """Opens a link to a session, of the check's kind or of a given one."""
        wanted = kind or self._link
        if wanted == "unary":
            return self.unary
        return self.stream() if wanted == "stream" else self.direct(made)

    def stream(self) -> StreamLink:
        """Opens a stream."""
        link = StreamLink(self._grpc, _STREAM_SECONDS)
        self._open.callback(link.close)
        return link

    def connect(
        self, made: pb.MakeResponse, address: str | None = None, *, plain: bool = False
    ) -> DirectLink:
        """Connects to the direct port of a session, `plain` without TLS, and sends nothing yet.

        Raises:
            SkippedError: The session has no direct channel.
        """
        if not made.direct.addresses:
            raise SkippedError("the session has no direct channel")
        host = made.address.rpartition(":")[0].strip("[]") or self.access.host
        access = replace(self.access, ca="", cert="", key="") if plain else self.access
        link = DirectLink(access, host, address or self.tcp_address(made), self.seconds, self.trace)
        self._open.callback(link.close)
        return link

    @staticmethod
    def tcp_address(made: pb.MakeResponse) -> str:
        """Returns the first TCP address, or the first address if none is TCP."""
        addresses = made.direct.addresses
        return next((one for one in addresses if not one.startswith("unix-")), addresses[0])

    def direct(self, made: pb.MakeResponse, address: str | None = None) -> DirectLink:
        """Opens a direct channel to a session.

        Raises:
            FailedError: The server refuses it.
        """
        link = self.connect(made, address)
        header = pb.SessionHeader(session_id=made.session_id, secret=made.secret)
        answer = link.hello(header)
        if not answer.HasField("welcome"):
            raise FailedError(f"a welcome, not {answer.error.message}")
        return link

    def stranger_stream(self, access: Access) -> StreamLink:
        """Opens a stream with other credentials."""
        channel = Grpc(access, self.trace)
        self._open.callback(channel.close)
        link = StreamLink(channel, self.seconds)
        self._open.callback(link.close)
        return link

    def reflect(self) -> bytes:
        """Returns the answer of the server's reflection to a request for its services."""
        return self._grpc.reflect(self.seconds)

    def call(self, method: str, request: bytes, service: str) -> bytes:
        """Calls a unary method of any service.

        Raises:
            grpc.RpcError: The call failed.
        """
        return self._grpc.call(method, request, self.seconds, service)

    def begin(self, method: str, request: bytes) -> Any:
        """Starts a unary call, and returns its future."""
        return self._grpc.begin(method, request, self.seconds)

    def eventually(self, condition: Callable[[], bool], expected: str) -> None:
        """Waits until a condition is true.

        Raises:
            FailedError: It did not become true in time.
        """
        until = time.monotonic() + self.seconds
        while not condition():
            if time.monotonic() > until:
                raise FailedError(expected)
            time.sleep(_POLL_SECONDS)
