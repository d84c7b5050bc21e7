"""Makes an environment again and replays a recording to it."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeAlias, TypeVar

from envwire.client._errors import ENDS, is_lost
from envwire.client._session.operations import Operation, Replay
from envwire.client._session.recording import NO_LOSS, Loss, Recording, Replayable
from envwire.client.errors import RemoteError, ReplayError, ReplayMismatchError
from envwire.codec import Reason
from envwire.v1 import environment_pb2 as pb

T = TypeVar("T")


class Recovering(Protocol):
    """The I/O of a recovery; its text names the environment in the log."""

    async def ask(self, operation: Operation[T], *, recover: bool = False) -> T:
        """Sends a request to the session and returns its result."""
        raise NotImplementedError

    async def make_again(self) -> None:
        """Makes the environment again, in a session that replaces the lost one."""

    async def discard(self, *, close: bool = False) -> None:
        """Frees the connection of the session, and closes the session if `close`."""

    async def pause(self, seconds: float) -> None:
        """Waits."""


#: Sends a request to one session and returns its result.
Ask: TypeAlias = Callable[[Replay], Awaitable[pb.ReplayResponse]]

_log = logging.getLogger("envwire.client")

#: Seconds to wait before the next attempt, if the new session is lost as well.
_PAUSES = (0.0, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)


async def bring_back(handle: Recovering, recording: Recording, error: RemoteError) -> None:
    """Makes an environment again and replays a recording to it; retries if the new session is lost as well.

    Args:
        handle: The environment.
        recording: The requests to replay.
        error: The error that revealed the loss.

    Raises:
        ReplayError: The recording cannot be replayed, or the answers differ.
        RemoteError: No server makes the environment.
    """
    begun = time.monotonic()
    recording.check_whole(error)
    _log.warning("%s: %s; replaying %d requests", handle, error, len(recording))
    for pause in _PAUSES:
        made = False
        try:
            await handle.make_again()
            made = True
            await replay(handle, recording, recording.lost(error.reason))
        except RemoteError as failure:
            await handle.discard(close=True)
            if not made and failure.reason not in ENDS:
                raise
            if isinstance(failure, ReplayError):
                raise failure from error
            if not is_lost(failure):
                raise ReplayError(
                    f"the session was lost, and its requests could not be replayed: {failure}"
                ) from error
            error = failure
            await handle.pause(pause)
        else:
            _log.info("%s: goes on after %.1f s", handle, time.monotonic() - begun)
            return
    raise error


async def replay(handle: Recovering, recording: Recording, loss: Loss = NO_LOSS) -> None:
    """Replays a recording to a new environment: the short log first, then the long log if the answers differ.

    Args:
        handle: The environment.
        recording: The requests to replay.
        loss: The loss that this recovers from; reported to the server.

    Raises:
        ReplayMismatchError: The answers differ from the recorded ones.
        ReplayError: The recording cannot be replayed here.
    """
    first, *others = recording.logs()
    try:
        await _replay_log(handle.ask, first, loss)
    except ReplayMismatchError:
        if not others:
            raise
        _log.info("an episode alone does not bring it back; replaying %d requests", len(others[0]))
        await handle.discard(close=True)
        await handle.make_again()
        await _replay_log(handle.ask, others[0], loss)


async def replay_first_log(ask: Ask, recording: Recording) -> None:
    """Replays a recording to a new session while the old one still exists.

    Args:
        ask: Sends a request to the new session.
        recording: The requests to replay.

    Raises:
        ReplayMismatchError: The answers differ from the recorded ones.
        ReplayError: The recording cannot be replayed here.
    """
    logs = recording.logs()
    if not logs:
        raise ReplayError("there were more requests than are recorded")
    await _replay_log(ask, logs[0], recording.lost(Reason.DRAINING.value))


async def _replay_log(ask: Ask, log: Replayable, loss: Loss) -> None:
    served = 0
    while served < len(log):
        part = pb.ReplayRequest(epoch=loss.epoch, loss=loss.reason)
        log.part(served, part)
        answer = await ask(Replay(part))
        log.check(served, answer)
        if answer.served <= served:
            raise ReplayError(f"the server served none of the requests from {served} on")
        served = answer.served
