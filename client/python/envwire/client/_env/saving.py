"""Saves and restores the state of an environment, and forks an environment.

The server does it where it can: it keeps the states of environments that offer them, and forks a session's process.
Where it cannot, and the environment is recorded (`on_lost="replay"`), the recording stands for the state: the
environment is made again and asked the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from envwire.client._env.np_random import MirroredRandom
from envwire.client._recovery.bring_back import replayed
from envwire.client._recovery.flows import Ask, CopyTo, Flow, LetGo, MakeAgain
from envwire.client._recovery.lives import Lives
from envwire.client._session.attribute_operations import GetRandom, HasAttribute
from envwire.client._session.operations import RestoreState, SaveState
from envwire.client._session.recording import Recording
from envwire.client.errors import InvalidRequestError, RemoteError
from envwire.codec import Reason
from envwire.v1 import spaces_pb2


@dataclass(frozen=True, eq=False, repr=False)
class SavedState:
    """A state that `restore_state` of the same environment returns to. It cannot leave this program.

    It is good until the environment is closed, and until the server keeps it no more.

    Attributes:
        lineage: What the environment was made as.
        number: The server's number for it.
        recording: What stands for it, where the server keeps none.
        drawn: Where draws on this side had brought the generator; None when there were none.
    """

    lineage: object
    number: int
    recording: Recording | None
    drawn: spaces_pb2.RandomState | None


def save(lives: Lives[Any], random: MirroredRandom) -> Flow[SavedState]:
    """Saves the state of an environment.

    Raises:
        InvalidRequestError: UNSUPPORTED: neither the environment nor its recording offers one.
        ReplayError: The recording is not whole.
    """
    recording = lives.strategy.recording
    number = 0
    try:
        number = yield Ask(SaveState(), recover=True)
    except InvalidRequestError as error:
        recording = _instead(recording, error)
    else:
        recording = None
    return SavedState(lives.lineage, number, recording, random.changed())


def restore(lives: Lives[Any], random: MirroredRandom, state: SavedState) -> Flow[None]:
    """Brings an environment back to a state.

    Raises:
        InvalidRequestError: It is not a state of this environment, or is not kept any more.
        RemoteError: The environment could not be brought there.
    """
    if state.lineage is not lives.lineage:
        raise InvalidRequestError(
            "this state belongs to another environment, or to what this one was before it was closed or lost; restore "
            "it where it was saved"
        )
    if state.recording is None:
        yield Ask(RestoreState(state.number), recover=True)
    else:
        present = lives.strategy.recording
        assert present is not None  # noqa: S101 - only recorded environments have recordings
        present.become(state.recording)
        yield from catch_up(lives)
    if random.active:
        random.absorb((yield Ask(GetRandom(), recover=True)))
        random.draw_again(state.drawn)


def fork(lives: Lives[Any], twin: Lives[Any]) -> Flow[bool]:
    """Makes a copy of an environment, in the same state.

    Args:
        lives: The environment.
        twin: Takes the copy.

    Returns:
        Whether it is made; otherwise the twin has to `catch_up`.

    Raises:
        InvalidRequestError: UNSUPPORTED: neither its process nor its recording allows it.
        ReplayError: The recording is not whole, or the copy went another way.
    """
    try:
        yield from _copied(lives, twin)
    except InvalidRequestError as error:
        _instead(twin.strategy.recording, error)
        return False
    return True


def catch_up(twin: Lives[Any]) -> Flow[None]:
    """Makes an environment and brings it to where its recording ends."""
    recording = twin.strategy.recording
    assert recording is not None  # noqa: S101 - only recorded environments have recordings
    yield LetGo(close=True)
    try:
        yield MakeAgain()
        yield from replayed(recording)
    except RemoteError:
        yield LetGo(close=True)
        raise


def _copied(lives: Lives[Any], twin: Lives[Any]) -> Flow[None]:
    try:
        yield CopyTo(twin)
    except RemoteError as error:
        if not lives.is_loss(error):
            raise
        yield from lives.serve_again(HasAttribute("spec"), error)
        yield CopyTo(twin)


def _instead(recording: Recording | None, error: InvalidRequestError) -> Recording:
    """Returns the recording that stands for a state, or raises why there is no state."""
    if recording is None or error.reason != Reason.UNSUPPORTED.value:
        raise error
    recording.check_whole(error)
    return recording.copy()
