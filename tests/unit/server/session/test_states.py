"""The state table: every move that it allows, and nothing else."""

from __future__ import annotations

import itertools

import pytest

from envwire.server._session.states import TRANSITIONS, Event, State

ALIVE = {State.READY, State.RUNNING, State.ENDED}


@pytest.mark.parametrize(("state", "event"), list(itertools.product(State, Event)))
def test_the_living_go_anywhere_and_the_dead_nowhere(state: State, event: Event) -> None:
    if state in ALIVE:
        assert TRANSITIONS[state, event] in State
    else:
        with pytest.raises(KeyError):
            TRANSITIONS[state, event]


def test_an_episode() -> None:
    state = State.READY
    for event, expected in [
        (Event.RESET, State.RUNNING),
        (Event.STEP, State.RUNNING),
        (Event.STEP_ENDED, State.ENDED),
        (Event.STEP, State.ENDED),
        (Event.RESET, State.RUNNING),
        (Event.CLOSE, State.CLOSED),
    ]:
        state = TRANSITIONS[state, event]
        assert state is expected


def test_every_state_can_be_reached() -> None:
    assert set(TRANSITIONS.values()) | {State.READY} == set(State)
