"""The states of a client session and the transitions between them, as one table.

A number is used up by the request that the server serves under it. A request that nobody waits for any more leaves its
number in doubt: it is sent once more before the next one, and the answer tells nobody anything but that it was served.
So numbers never run ahead of answers, and a request that arrives late finds its number used.
"""

from __future__ import annotations

from enum import Enum


class State(Enum):
    """Where a session stands."""

    __hash__ = object.__hash__  # each member is one object; Enum would hash its name at every step

    UNMADE = "nothing was sent yet"
    MAKING = "the Make is sent"
    MAKE_BROKEN = "as MAKING, but the connection broke: the Make is to be repeated"
    READY = "every numbered request was answered"
    AWAITING = "a numbered request is sent, its answer is to come"
    BROKEN = "as AWAITING, but the connection broke: the request is to be repeated"
    IN_DOUBT = "as BROKEN, but nobody waits for the answer any more"
    ENDED = "closed, or no more; gone for good"


class Move(Enum):
    """What moves a session."""

    __hash__ = object.__hash__

    MAKE = "the Make is sent"
    MADE = "the Make is answered"
    REQUEST = "a numbered request is sent"
    ANSWER = "it is answered, by a result or an error"
    RENUMBER = "the server asks for another number"
    CUT = "the connection breaks"
    REPEAT = "the same request is sent again"
    GIVE_UP = "nobody waits for the answer any more"
    TAKE_BACK = "the request cannot be sent at all"
    END = "the session is closed, lost, expired or drained, or was never made"


_LIVE = tuple(state for state in State if state is not State.ENDED)

TRANSITIONS: dict[tuple[State, Move], State] = {
    **{(state, Move.END): State.ENDED for state in _LIVE},
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

#: What a request, and its answer, move a session to: for each step, as the columns of the table.
REQUESTED = {state: after for (state, move), after in TRANSITIONS.items() if move is Move.REQUEST}
ANSWERED = {state: after for (state, move), after in TRANSITIONS.items() if move is Move.ANSWER}

#: The Make is on its way, or to be repeated.
MAKING = frozenset({State.MAKING, State.MAKE_BROKEN})
#: A numbered request is on its way, or to be repeated.
PENDING = frozenset({State.AWAITING, State.BROKEN, State.IN_DOUBT})


class ProtocolError(RuntimeError):
    """A driver did something out of turn: a fault in envwire, not in the program that uses it."""


def moved(state: State, move: Move) -> State:
    """Returns the state after a move.

    Raises:
        ProtocolError: The table has no such move.
    """
    try:
        return TRANSITIONS[state, move]
    except KeyError:
        raise ProtocolError(
            f"{move.name} cannot happen to a session that is {state.name}"
        ) from None
