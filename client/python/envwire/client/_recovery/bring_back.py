"""Makes an environment again and replays a recording to it."""

from __future__ import annotations

import logging
import time

from envwire.client._errors.losses import ENDS, is_lost
from envwire.client._recovery.flows import Ask, Asking, Flow, Kill, MakeAgain
from envwire.client._session.flows import Pause
from envwire.client._session.operations import Replay
from envwire.client._session.recording.recording import NO_LOSS, Loss, Recording, Replayable
from envwire.client.errors import RemoteError, ReplayError, ReplayMismatchError
from envwire.codec import Reason
from envwire.v1 import environment_pb2 as pb

_log = logging.getLogger("envwire.client")

#: Seconds to wait before the next attempt, if the new session is lost as well.
_PAUSES = (0.0, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)


def bring_back(label: object, recording: Recording, error: RemoteError) -> Flow[None]:
    """Makes an environment again and replays a recording to it; retries if the new session is lost as well.

    Args:
        label: Names the environment in the log.
        recording: The requests to replay.
        error: The error that revealed the loss.

    Raises:
        ReplayError: The recording cannot be replayed, or the answers differ.
        RemoteError: No server makes the environment.
    """
    begun = time.monotonic()
    recording.check_whole(error)
    _log.warning("%s: %s; replaying %d requests", label, error, len(recording))
    for pause in _PAUSES:
        made = False
        try:
            yield MakeAgain()
            made = True
            yield from replay(recording, recording.lost(error.reason))
        except RemoteError as failure:
            yield Kill(close=True)
            if not made and failure.reason not in ENDS:
                raise
            if isinstance(failure, ReplayError):
                raise failure from error
            if not is_lost(failure):
                raise ReplayError(
                    f"the session was lost, and its requests could not be replayed: {failure}"
                ) from error
            error = failure
            yield Pause(pause)
        else:
            _log.info("%s: goes on after %.1f s", label, time.monotonic() - begun)
            return
    raise error


def replay(recording: Recording, loss: Loss = NO_LOSS) -> Flow[None]:
    """Replays a recording to a new environment: the short log first, then the long log if the answers differ.

    Args:
        recording: The requests to replay.
        loss: The loss that this recovers from; reported to the server.

    Raises:
        ReplayMismatchError: The answers differ from the recorded ones.
        ReplayError: The recording cannot be replayed here.
    """
    first, *others = recording.logs()
    try:
        yield from _replay_log(first, loss)
    except ReplayMismatchError:
        if not others:
            raise
        _log.info("an episode alone does not bring it back; replaying %d requests", len(others[0]))
        yield Kill(close=True)
        yield MakeAgain()
        yield from _replay_log(others[0], loss)


def replay_first_log(recording: Recording) -> Asking[None]:
    """Replays a recording to a new session while the old one still exists; it sends requests and makes no sessions.

    Raises:
        ReplayMismatchError: The answers differ from the recorded ones.
        ReplayError: The recording cannot be replayed here.
    """
    logs = recording.logs()
    if not logs:
        raise ReplayError("there were more requests than are recorded")
    yield from _replay_log(logs[0], recording.lost(Reason.DRAINING.value))


def _replay_log(log: Replayable, loss: Loss) -> Asking[None]:
    served = 0
    while served < len(log):
        part = pb.ReplayRequest(epoch=loss.epoch, loss=loss.reason)
        log.part(served, part)
        answer: pb.ReplayResponse = yield Ask(Replay(part))
        log.check(served, answer)
        if answer.served <= served:
            raise ReplayError(f"the server served none of the requests from {served} on")
        served = answer.served
