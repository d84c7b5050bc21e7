"""Events that a `ClientSession` returns to its driver for an answer, and notices that came with it.

`Outcome` turns the outcome of a request into a return value or an exception, and issues the environment's warnings.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from envwire.client._session.states import ProtocolError
from envwire.codec import decode_warnings
from envwire.codec.durations import to_seconds
from envwire.v1 import status_pb2


@dataclass(frozen=True)
class Notice:
    """Something that a server tells all its clients.

    Attributes:
        kind: "DRAINING": the server makes no new sessions, and ends this one when the time is over.
        time_left: Seconds left when the notice was sent.
    """

    kind: str
    time_left: float


_KINDS = {status_pb2.Notice.KIND_DRAINING: "DRAINING"}


def read_notices(notices: Iterable[status_pb2.Notice]) -> tuple[Notice, ...]:
    """Returns the notices whose kind this client knows."""
    return tuple(
        Notice(_KINDS[each.kind], to_seconds(each.time_left))
        for each in notices
        if each.kind in _KINDS
    )


@dataclass(slots=True)
class Answered:
    """The request was served.

    Not frozen, because one is made for each step: that would add 3,000 instructions to the 60,000 of a step.

    Attributes:
        result: What the operation read from the answer.
        warnings: Warnings of the environment.
    """

    result: Any
    warnings: Sequence[status_pb2.Warning] = ()


@dataclass(frozen=True, slots=True)
class Refused:
    """The request was answered with an error of the environment or the server.

    Attributes:
        error: The exception to raise.
        warnings: Category and text of each warning of an environment that could not be made.
    """

    error: BaseException
    warnings: Sequence[tuple[type[Warning], str]] = ()


@dataclass(frozen=True, slots=True)
class SendAgain:
    """The server expects another sequence number: the request has to be sent again.

    Attributes:
        request: The request under the expected number.
    """

    request: bytes


Event: TypeAlias = Answered | Refused | SendAgain


class Outcome:
    """Turns events into results.

    Args:
        label: Shown as the source of the environment's warnings.
    """

    def __init__(self, label: str) -> None:
        self._label = label
        self._warned: dict[str | tuple[Any, ...], Any] = {}

    def unwrap(self, event: Event) -> Any:
        """Returns the result of a request.

        Raises:
            Exception: The error that it was answered with.
        """
        if type(event) is Answered:
            if event.warnings:
                self._warn(decode_warnings(event.warnings))
            return event.result
        if isinstance(event, Refused):
            self._warn(event.warnings)
            raise event.error
        raise ProtocolError(f"{event} is not the outcome of a request")

    def _warn(self, given: Iterable[tuple[type[Warning], str]]) -> None:
        """Issues the environment's warnings in this program, whose filters apply to them."""
        for category, text in given:
            warnings.warn_explicit(text, category, self._label, 0, "envwire.remote", self._warned)
