"""Compliance tests for servers, as a base class: the core of docs/protocol.md."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

from envwire.client import Credentials, RemoteEnv, RemoteError, Transport
from envwire.client._transports.by_name import open_transport
from envwire.client._transports.transport import call
from envwire.codec import Reason, decode_fault, envwire_family
from envwire.testing.comparing import identical, rollout
from envwire.v1 import environment_pb2 as pb

_SECONDS = 30.0


class ServerCompliance:
    """Tests of one server. Derive from it, name the server, and let pytest collect the class.

    Attributes:
        target: HOST:PORT.
        env_id: An environment that it offers, whose episodes depend only on seed and actions.
        credentials: Certificates and token; by default those that environment variables name.
        transports: The transports to compare.
        steps: Number of steps in a rollout.
    """

    target: ClassVar[str]
    env_id: ClassVar[str] = "CartPole-v1"
    credentials: ClassVar[Credentials | None] = None
    transports: ClassVar[Sequence[str]] = ("unary", "stream", "direct")
    steps: ClassVar[int] = 100

    @contextmanager
    def _session(self) -> Generator[_Session]:
        with contextlib.closing(self._open()) as transport:
            session = _Session(transport, self.env_id)
            try:
                yield session
            finally:
                session.ask("close", session.number + 1)

    def _open(self) -> Transport:
        return open_transport("unary", self.target, _SECONDS, self.credentials)

    def test_it_lists_the_environment(self) -> None:
        """ListEnvironments lists the environment."""
        with contextlib.closing(self._open()) as transport:
            request = pb.InteractRequest(list_environments=pb.ListEnvironmentsRequest())
            listed = call(transport, request, _SECONDS).list_environments.environments
        assert self.env_id in [listing.spec.id for listing in listed]

    def test_an_unknown_id_is_refused(self) -> None:
        """Make of an id that is not listed answers UNKNOWN_ENVIRONMENT."""
        with contextlib.closing(self._open()) as transport:
            request = pb.InteractRequest(make=pb.MakeRequest(env_id="envwire/NoSuch-v0"))
            assert _reason(call(transport, request, _SECONDS)) is Reason.UNKNOWN_ENVIRONMENT

    def test_requests_are_numbered_from_one(self) -> None:
        """Another first number answers SEQUENCE_GAP and changes nothing."""
        with self._session() as session:
            assert _reason(session.ask("reset", 2)) is Reason.SEQUENCE_GAP
            assert session.ask("reset", 1).HasField("reset")

    def test_a_repeated_request_is_served_once(self) -> None:
        """The same number with the same request answers the same bytes, and does not step again."""
        with self._session() as session:
            session.ask("reset", 1, seed=1)
            first = session.ask("step", 2, action=0)
            assert session.ask("step", 2, action=0) == first
            assert session.ask("step", 3, action=0).HasField("step")

    def test_a_number_is_not_used_twice(self) -> None:
        """The same number with another request answers SEQUENCE_REUSED."""
        with self._session() as session:
            session.ask("reset", 1, seed=1)
            assert _reason(session.ask("reset", 1, seed=2)) is Reason.SEQUENCE_REUSED

    def test_a_wrong_secret_is_refused(self) -> None:
        """A client without the session's secret cannot drive it."""
        with self._session() as session:
            header = pb.SessionHeader(session_id=session.header.session_id, secret=b"x" * 16)
            request = pb.InteractRequest(reset=pb.ResetRequest(header=header, sequence=1))
            assert _reason(call(session.transport, request, _SECONDS)) is Reason.WRONG_SECRET
            assert session.ask("reset", 1).HasField("reset")

    def test_an_unknown_session_is_told_so(self) -> None:
        """The id of a session that never existed answers UNKNOWN_SESSION."""
        with contextlib.closing(self._open()) as transport:
            header = pb.SessionHeader(session_id="no such session", secret=b"x" * 16)
            request = pb.InteractRequest(reset=pb.ResetRequest(header=header, sequence=1))
            assert _reason(call(transport, request, _SECONDS)) is Reason.UNKNOWN_SESSION

    def test_closing_twice_is_harmless(self) -> None:
        """Close gives the same answer whether the session is open or gone."""
        with self._session() as session:
            assert session.ask("close", 1).HasField("close")
            assert session.ask("close", 2).HasField("close")

    def test_all_transports_give_the_same_episodes(self) -> None:
        """The transport does not change a single bit of the answers."""
        seen: list[Any] = []
        for transport in self.transports:
            options: dict[str, Any] = {"transport": transport, "credentials": self.credentials}
            with contextlib.closing(RemoteEnv(self.target, self.env_id, **options)) as env:
                seen.append(rollout(env, self.steps, seed=7))
        assert all(identical(seen[0], other) for other in seen[1:])


class _Session:
    """A session driven message by message."""

    def __init__(self, transport: Transport, env_id: str) -> None:
        made = call(transport, pb.InteractRequest(make=pb.MakeRequest(env_id=env_id)), _SECONDS)
        if made.HasField("error"):
            raise RemoteError(made.error.message)
        self.transport = transport
        self.header = pb.SessionHeader(session_id=made.make.session_id, secret=made.make.secret)
        self.number = 0

    def ask(self, kind: str, number: int, **values: int) -> pb.InteractResponse:
        """Sends a request under a number; `values` are integers for its fields, by name."""
        request = pb.InteractRequest()
        body: Any = getattr(request, kind)
        body.header.CopyFrom(self.header)
        body.sequence = number
        for name, value in values.items():
            getattr(body, name).int_value = value
        self.number = max(self.number, number)
        return call(self.transport, request, _SECONDS)


def _reason(response: pb.InteractResponse) -> Reason | None:
    if not response.HasField("error"):
        return None
    return decode_fault(response.error, envwire_family()).reason
