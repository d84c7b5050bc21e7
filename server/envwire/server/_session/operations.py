"""The table that maps kinds of requests to the functions that serve them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from envwire.server._session.attributes import call_method, get_attribute, set_attribute
from envwire.server._session.episodes import render, reset
from envwire.server._session.hosted_env import Answer, HostedEnv
from envwire.server._session.states import Event
from envwire.v1 import environment_pb2 as pb


def close(hosted: HostedEnv, _: pb.CloseRequest, answer: Answer) -> None:
    """Closes the environment. The session is over even if that raises."""
    answer.message.close.SetInParent()
    hosted.call(hosted.env.close)


def save_state(hosted: HostedEnv, _: pb.SaveStateRequest, answer: Answer) -> None:
    """Saves the current state."""
    answer.message.save_state.state = hosted.snapshots.save()


def restore_state(hosted: HostedEnv, request: pb.RestoreStateRequest, answer: Answer) -> Event:
    """Restores a saved state, from which the episode continues."""
    answer.message.restore_state.SetInParent()
    hosted.snapshots.restore(request.state)
    return Event.RESET


Operation = Callable[[HostedEnv, Any, Answer], Event | None]

#: The operation for each request of a session, by its field in InteractRequest. Two are missing: a step is served
#: separately because its usual answer is written without building a message, and a replay consists of other requests.
OPERATIONS: dict[str, Operation] = {
    "reset": reset,
    "render": render,
    "close": close,
    "get_attribute": get_attribute,
    "set_attribute": set_attribute,
    "call_method": call_method,
    "save_state": save_state,
    "restore_state": restore_state,
}
