"""The states of a client session and the transitions between them, as one table, and the events that it returns.

The server serves one request under each sequence number. If the client stops waiting for an answer, the request is in
doubt: before the next request it is sent once more, only to make sure that it was served. So a number is used only
after the previous one was answered, and a request that arrives late finds its number taken.

`Outcome` turns the outcome of a request into a return value or an exception, and issues the environment's warnings.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

from envwire.codec import decode_warnings
from envwire.codec.messages import to_seconds
from envwire.v1 import status_pb2


class State(Enum):
    """The states of a session."""

    # Members are singletons; Enum hashes the name instead, which costs more at every step.
    __hash__ = object.__hash__

    UNMADE = "nothing was sent yet"
    MAKING = "the Make is sent"
    MAKE_BROKEN = "as MAKING, but the connection broke: the Make has to be repeated"
    READY = "every numbered request was answered"
    AWAITING = "a numbered request is sent and not answered"
    BROKEN = "as AWAITING, but the connection broke: the request has to be repeated"
    IN_DOUBT = "as BROKEN, but the caller has stopped waiting for the answer"
    ENDED = "closed or lost"


class Move(Enum):
    """The events that change the state of a session."""

    __hash__ = object.__hash__

    MAKE = "the Make is sent"
    MADE = "the Make is answered"
    REQUEST = "a numbered request is sent"
    ANSWER = "it is answered, with a result or an error"
    RENUMBER = "the server asks for another number"
    CUT = "the connection breaks"
    REPEAT = "the same request is sent again"
    GIVE_UP = "the caller stops waiting for the answer"
    TAKE_BACK = "the request could not be sent"
    END = "the session is closed, lost, expired or drained, or was never made"


TRANSITIONS: dict[tuple[State, Move], State] = {
    **{(state, Move.END): State.ENDED for state in State if state is not State.ENDED},
    (State.UNMADE, Move.MAKE): State.MAKING,
    (State.MAKING, Move.MADE): State.READY,
    (State.MAKING, Move.CUT): State.MAKE_BROKEN,
    (State.MAKE_BROKEN, Move.REPEAT): State.MAKING,
    (State.READY, Move.REQUEST): State.AWAITING,
    (State.AWAITING, Move.ANSWER): State.READY,
    (State.AWAITING, Move.RENUMBER): State.AWAITING,
    (State.AWAITING, Move.TAKE_BACK): State.READY,
    (State.AWAITING, Move.CUT): State.BROKEN,
    (State.AWAITING, Move.GIVE_UP): State.IN_DOUBT,
    (State.BROKEN, Move.REPEAT): State.AWAITING,
    (State.BROKEN, Move.GIVE_UP): State.IN_DOUBT,
    (State.IN_DOUBT, Move.REPEAT): State.AWAITING,
    (State.IN_DOUBT, Move.TAKE_BACK): State.READY,
}

#: The table's columns for a request and its answer, which every step looks up.
REQUESTED = {state: after for (state, move), after in TRANSITIONS.items() if move is Move.REQUEST}
ANSWERED = {state: after for (state, move), after in TRANSITIONS.items() if move is Move.ANSWER}

#: The Make is unanswered.
MAKING = frozenset({State.MAKING, State.MAKE_BROKEN})
#: A numbered request is unanswered.
PENDING = frozenset({State.AWAITING, State.BROKEN, State.IN_DOUBT})


class ProtocolError(RuntimeError):
    """A driver broke the rules of the state table: a bug in envwire, not in the program that uses it."""


def moved(state: State, move: Move) -> State:
    """Returns the state after an event.

    Raises:
        ProtocolError: The event is not allowed in this state.
    """
    try:
        return TRANSITIONS[state, move]
    except KeyError:
        raise ProtocolError(
            f"{move.name} cannot happen to a session that is {state.name}"
        ) from None


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
