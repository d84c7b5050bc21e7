"""Events that a `ClientSession` returns to its driver for an answer: the outcome of a request, or what to do next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from envwire.v1.status_pb2 import Warning as RemoteWarning


@dataclass(slots=True)
class Answered:
    """The request was served.

    Not frozen, because one is made for each step: that would add 3,000 instructions to the 60,000 of a step.

    Attributes:
        result: What the operation read from the answer.
        warnings: Warnings of the environment.
    """

    result: Any
    warnings: Sequence[RemoteWarning] = ()


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
