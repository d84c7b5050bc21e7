"""A session driven by a check, with correct sequence numbers or chosen ones."""

from __future__ import annotations

from typing import Any, Protocol

from envwire.conformance.raw.answers import Answer
from envwire.conformance.raw.direct_link import DirectLink
from envwire.v1 import environment_pb2 as pb
from envwire.v1.values_pb2 import Value


class Link(Protocol):
    """Carries requests of sessions.

    Attributes:
        name: "unary", "stream" or "direct".
        shows_header: Whether requests on it have a header.
    """

    name: str
    shows_header: bool

    def exchange(self, request: pb.InteractRequest, seconds: float) -> Answer:
        """Sends a request, and waits for its answer."""
        ...

    def close(self) -> None:
        """Closes the link."""
        ...


class Session:
    """A session.

    Args:
        made: The answer to `Make`.
        link: The link that carries its requests.
        seconds: Longest wait for an answer, in seconds.

    Attributes:
        number: The last sequence number used.
    """

    def __init__(self, made: pb.MakeResponse, link: Link, seconds: float) -> None:
        self.made = made
        self.link = link
        self.number = 0
        self._seconds = seconds

    @property
    def direct(self) -> DirectLink:
        """The link, of a check that runs over direct channels only."""
        assert isinstance(self.link, DirectLink)  # noqa: S101 - for the type checker
        return self.link

    @property
    def header(self) -> pb.SessionHeader:
        """The session's id and secret."""
        return pb.SessionHeader(session_id=self.made.session_id, secret=self.made.secret)

    def request(self, kind: str, sequence: int | None = None, **fields: Any) -> pb.InteractRequest:
        """Returns a request without a header; its number is the next one, or `sequence`."""
        request = pb.InteractRequest()
        message = getattr(request, kind)
        message.SetInParent()
        if "sequence" in message.DESCRIPTOR.fields_by_name:
            message.sequence = self.number + 1 if sequence is None else sequence
        message.MergeFrom(type(message)(**fields))
        return request

    def send(self, request: pb.InteractRequest, link: Link | None = None) -> Answer:
        """Sends a request unchanged, with the session's header if the link needs one."""
        used = link or self.link
        shown = pb.InteractRequest()
        shown.CopyFrom(request)
        if used.shows_header:
            kind = shown.WhichOneof("request") or ""
            message = getattr(shown, kind)
            if not message.HasField("header"):
                message.header.CopyFrom(self.header)
        return used.exchange(shown, self._seconds)

    def ask(self, kind: str, **fields: Any) -> Answer:
        """Sends the next request, and counts its number as used."""
        request = self.request(kind, **fields)
        self.number += 1
        return self.send(request)

    def peek(self, kind: str, sequence: int, **fields: Any) -> Answer:
        """Sends a request with a chosen number, without counting it."""
        return self.send(self.request(kind, sequence, **fields))

    def reset(self, seed: int | None = None, **fields: Any) -> pb.ResetResponse:
        """Resets, and returns the answer.

        Raises:
            FailedError: The answer is an error.
        """
        if seed is not None:
            fields["seed"] = Value(int_value=seed)
        answer: pb.ResetResponse = self.ask("reset", **fields).of("reset")
        return answer

    def step(self, action: Value | int, **fields: Any) -> pb.StepResponse:
        """Steps, and returns the answer.

        Raises:
            FailedError: The answer is an error.
        """
        asked = Value(int_value=action) if isinstance(action, int) else action
        answer: pb.StepResponse = self.ask("step", action=asked, **fields).of("step")
        return answer

    def close(self) -> Answer:
        """Closes the session."""
        return self.ask("close")
