"""Saves and restores the state of an environment, and forks environments.

The server keeps the states of environments that can save them, and forks session processes. If it cannot, and the
environment is recorded (`on_lost="replay"`), the recording serves as the state: the environment is made again and the
recorded requests are repeated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from envwire.client._env.episodes import MirroredRandom
from envwire.client._recovery.bring_back import replay
from envwire.client._recovery.session_handle import BaseSessionHandle
from envwire.client._session.attribute_operations import GetRandom, HasAttribute
from envwire.client._session.operations import NewSpaces, RestoreState, SaveState
from envwire.client._session.recording import Recording
from envwire.client.errors import InvalidRequestError, RemoteError
from envwire.codec import Reason
from envwire.v1 import spaces_pb2

Handle: TypeAlias = BaseSessionHandle[Any]


@dataclass(frozen=True, eq=False, repr=False)
class SavedState:
    """A state to which `restore_state` of the same environment can return. It cannot leave this program.

    It is valid until the environment is closed or the server drops it.

    Attributes:
        generation: Identifies the environment that it belongs to.
        number: The server's number for it.
        recording: The recording that stands in for the state, if the server cannot save it.
        drawn: State of the mirrored generator after draws on the client; None if there were none.
        spaces: The environment's new spaces.
    """

    generation: object
    number: int
    recording: Recording | None
    drawn: spaces_pb2.RandomState | None
    spaces: NewSpaces


async def save(handle: Handle, random: MirroredRandom, spaces: NewSpaces) -> SavedState:
    """Saves the state of an environment.

    Raises:
        InvalidRequestError: UNSUPPORTED: the environment cannot save its state and is not recorded.
        ReplayError: The recording cannot be replayed.
    """
    number, recording = 0, None
    try:
        number = await handle.ask(SaveState(), recover=True)
    except InvalidRequestError as error:
        recording = _instead(handle.strategy.recording, error)
    return SavedState(handle.generation, number, recording, random.changed(), spaces)


async def restore(handle: Handle, random: MirroredRandom, state: SavedState) -> None:
    """Returns an environment to a saved state.

    Raises:
        InvalidRequestError: It belongs to another environment, or the server has dropped it.
        RemoteError: The environment could not be brought to that state.
    """
    if state.generation is not handle.generation:
        raise InvalidRequestError(
            "this state belongs to another environment, or to what this one was before it was closed or lost; restore "
            "it where it was saved"
        )
    if state.recording is None:
        await handle.ask(RestoreState(state.number), recover=True)
    else:
        await catch_up(handle, state.recording)
    if random.active:
        random.absorb(await handle.ask(GetRandom("np_random"), recover=True))
        random.draw_again(state.drawn)


async def fork(handle: Handle, clone: Handle) -> bool:
    """Makes a copy of an environment, in the same state.

    Args:
        handle: The environment.
        clone: The handle that receives the copy.

    Returns:
        Whether the copy was made; otherwise the clone has to `catch_up`.

    Raises:
        InvalidRequestError: UNSUPPORTED: its process cannot be forked, and it is not recorded.
        ReplayError: The recording cannot be replayed, or the copy gave other answers.
    """
    try:
        try:
            await handle.make_copy(clone)
        except RemoteError as error:
            if not handle.is_loss(error):
                raise
            await handle.serve_again(HasAttribute("spec"), error)
            await handle.make_copy(clone)
    except InvalidRequestError as error:
        _instead(clone.strategy.recording, error)
        return False
    return True


async def catch_up(handle: Handle, state: Recording | None = None) -> None:
    """Makes an environment and replays its recording, or one that takes the place of its recording."""
    recording = handle.strategy.recording
    assert recording is not None  # noqa: S101 - only recorded environments have recordings
    if state is not None:
        recording.become(state)
    await handle.discard(close=True)
    try:
        await handle.make_again()
        await replay(handle, recording)
    except RemoteError:
        await handle.discard(close=True)
        raise


def _instead(recording: Recording | None, error: InvalidRequestError) -> Recording:
    """Returns the recording that serves as the state; raises if there is none."""
    if recording is None or error.reason != Reason.UNSUPPORTED.value:
        raise error
    recording.check_whole(error)
    return recording.copy()
