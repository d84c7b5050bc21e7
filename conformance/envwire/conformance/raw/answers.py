"""Answers, in one form for all links, with helpers for checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message

from envwire.codec import Reason
from envwire.conformance.outcomes import FailedError, expect, expect_equal
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import status_pb2

_PREFIX = "type.googleapis.com/"
_DETAILS: dict[str, type[Message]] = {
    f"{_PREFIX}google.rpc.ErrorInfo": status_pb2.ErrorInfo,
    f"{_PREFIX}google.rpc.DebugInfo": status_pb2.DebugInfo,
    f"{_PREFIX}google.rpc.RetryInfo": status_pb2.RetryInfo,
    f"{_PREFIX}envwire.v1.RemoteException": status_pb2.RemoteException,
}


@dataclass(frozen=True)
class Answer:
    """One answer.

    Attributes:
        response: The message; for a failed unary call, with the status in `error`.
        raw: The bytes received; of a unary call, only those of the response; empty for a failed unary call.
        attachments: The attachments, from the socket or from shared memory.
        slot: The slot of shared memory that the frame named, or where else its attachments are; 0 if they follow it.
    """

    response: pb.InteractResponse
    raw: bytes = b""
    attachments: bytes = b""
    slot: int = 0

    @property
    def kind(self) -> str:
        """Name of the field that is set; empty if none is."""
        return self.response.WhichOneof("response") or ""

    def of(self, kind: str) -> Any:
        """Returns the message in an answer that must be of a given kind.

        Raises:
            FailedError: It is an error, or of another kind.
        """
        if self.kind != kind:
            raise FailedError(f"an answer with {kind}, not {self._named()}")
        return getattr(self.response, kind)

    def _named(self) -> str:
        reason = self.info.reason if self.kind == "error" else ""
        return f"{self.kind or 'nothing'} {reason}".rstrip()

    def details(self, kind: type[Any]) -> list[Any]:
        """Returns the details of one type, by type URL."""
        return [
            kind.FromString(detail.value)
            for detail in self.response.error.details
            if _DETAILS.get(detail.type_url) is kind
        ]

    @property
    def info(self) -> status_pb2.ErrorInfo:
        """The ErrorInfo of an error; an empty one if there is none."""
        found: list[status_pb2.ErrorInfo] = self.details(status_pb2.ErrorInfo)
        return found[0] if found else status_pb2.ErrorInfo()

    def refused(self, *reasons: Reason) -> status_pb2.ErrorInfo:
        """Returns the ErrorInfo of an error that must have one of these reasons and the matching status.

        Raises:
            FailedError: It has another reason or status, or is no error.
        """
        wanted = " or ".join(reasons)
        expect(self.kind == "error", f"the error {wanted}, not {self._named()}")
        info = self.info
        expect(info.reason in reasons, f"the reason {wanted}, not {info.reason or 'none'!r}")
        expect_equal(info.domain, "envwire", "the domain of ErrorInfo")
        code = int(Reason(info.reason).code)
        expect_equal(self.response.error.code, code, f"the status code of {info.reason}")
        return info
