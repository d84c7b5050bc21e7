"""The states of an episode in a session and the transitions between them, as one table.

READY --reset--> RUNNING --step--> RUNNING or ENDED --reset--> RUNNING; close from anywhere. A chunk of actions stops
where the state is ENDED, and a CLOSED session is removed. The front ends sessions for other reasons (see its `life`).

A step is passed to the environment in any live state. Whether a step before the first reset or after the end is an
error is the environment's own rule (`OrderEnforcing`), so that a remote environment refuses what a local one does.
"""

from __future__ import annotations

from enum import Enum


class State(Enum):
    """State of a session's episode."""

    __hash__ = object.__hash__  # each member is one object; Enum would hash its name at every step

    READY = "made, not reset yet"
    RUNNING = "in an episode"
    ENDED = "its episode is over; reset starts the next"
    CLOSED = "closed; gone for good"


class Event(Enum):
    """An event that changes a session's state."""

    __hash__ = object.__hash__

    RESET = "reset"
    STEP = "step"
    STEP_ENDED = "step that terminated or truncated the episode"
    CLOSE = "close"


_ALIVE = (State.READY, State.RUNNING, State.ENDED)

#: The state after an event; a pair that is missing cannot happen.
TRANSITIONS: dict[tuple[State, Event], State] = {
    **{(state, Event.RESET): State.RUNNING for state in _ALIVE},
    **{(state, Event.CLOSE): State.CLOSED for state in _ALIVE},
    (State.READY, Event.STEP): State.READY,
    (State.READY, Event.STEP_ENDED): State.ENDED,
    (State.RUNNING, Event.STEP): State.RUNNING,
    (State.RUNNING, Event.STEP_ENDED): State.ENDED,
    (State.ENDED, Event.STEP): State.ENDED,
    (State.ENDED, Event.STEP_ENDED): State.ENDED,
}
