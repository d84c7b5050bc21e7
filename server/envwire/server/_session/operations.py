"""Requests that drive episodes: reset, step, render, saved states and close; the table of all requests.

Values of answers that have no wire form become faults.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any, cast

from envwire.codec import (
    CodecError,
    FaultError,
    Reason,
    encode_mapping,
    encode_value,
    fault_from_exception,
)
from envwire.codec.steps import write_step
from envwire.server._hosting.np_random import mirror
from envwire.server._hosting.vector.vector_hosts import is_vector
from envwire.server._session.attributes import call_method, get_attribute, set_attribute
from envwire.server._session.hosted_env import Answer, HostedEnv, reason_of
from envwire.server._session.states import Event
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import values_pb2
from envwire.wire.frames import Attachments


def write(
    value: Any, message: values_pb2.Value, name: str, attachments: Attachments | None
) -> None:
    """Encodes an environment's observation or frame.

    Raises:
        FaultError: UNSUPPORTED: the value has no wire form.
    """
    try:
        encode_value(value, message, name, attachments=attachments)
    except CodecError as error:
        raise FaultError(Reason.UNSUPPORTED, str(error)) from error


def write_info(info: Any, message: values_pb2.ValueMap, attachments: Attachments | None) -> None:
    """Encodes an info; values without a wire form are replaced by a description.

    Raises:
        FaultError: ENVIRONMENT_RAISED: the info is not a dict.
    """
    check_info(info)
    message.SetInParent()
    mapping = cast("dict[Any, Any]", info)
    encode_mapping(mapping, message, "info", opaque=True, attachments=attachments)


def check_info(info: Any) -> None:
    """Checks that an environment returned a dictionary as info.

    Raises:
        FaultError: ENVIRONMENT_RAISED: the info is not a dict.
    """
    if not isinstance(info, Mapping):
        raise FaultError(
            Reason.ENVIRONMENT_RAISED,
            f"the environment returned an info of type {type(info).__name__}; it must be a dict",
        )


def reset(hosted: HostedEnv, request: pb.ResetRequest, answer: Answer) -> Event:
    """Starts an episode; seed and options are passed on only if the client gave them."""
    env, response = hosted.env, answer.message.reset
    kwargs: dict[str, Any] = {}
    if request.HasField("seed"):
        kwargs["seed"] = hosted.read(request.seed)
    if request.HasField("options"):
        kwargs["options"] = hosted.read(request.options)
    if request.member_options:
        hosted.with_members()  # else the request is refused
        kwargs["member_options"] = list(hosted.read_each(request.member_options))
    hosted.restore_generator(request)
    observation, info = hosted.call(lambda: _pair(env.reset(**kwargs)))
    write(observation, response.observation, "observation", answer.attachments)
    write_info(info, response.info, answer.attachments)
    if request.mirror_np_random:
        mirror(env, response.random)
    response.member_resets.extend(hosted.member_resets)
    hosted.spaces.write(env, response)
    return Event.RESET


def _pair(result: Any) -> tuple[Any, Any]:
    observation, info = result
    return observation, info


def encode_step(
    hosted: HostedEnv,
    result: tuple[Any, Any, Any, Any, Any],
    mirrored: bool,
    response: pb.StepResponse,
    attachments: Attachments | None,
) -> Event:
    """Writes the result of a step; reward and flags keep the environment's types."""
    event = step_event(hosted, result)
    check_info(result[4])
    try:
        write_step(result, response, attachments, vector=is_vector(hosted.env))
    except CodecError as error:
        raise FaultError(Reason.UNSUPPORTED, str(error)) from error
    if mirrored:
        mirror(hosted.env, response.random)
    response.member_resets.extend(hosted.member_resets)
    return event


def step_event(hosted: HostedEnv, result: tuple[Any, Any, Any, Any, Any]) -> Event:
    """Returns the session's event for a step. Vector environments reset their members, so no step of theirs ends it.

    Args:
        hosted: The environment.
        result: What its step returned.

    Raises:
        FaultError: ENVIRONMENT_RAISED: a flag is neither true nor false, as an array of several.
    """
    if is_vector(hosted.env):
        return Event.STEP
    return Event.STEP_ENDED if hosted.call(_has_ended, result) else Event.STEP


def _has_ended(result: tuple[Any, Any, Any, Any, Any]) -> bool:
    return bool(result[2]) or bool(result[3])


def step_fault(hosted: HostedEnv, action: Any, error: Exception) -> FaultError:
    """Returns the fault of a step that raised: INVALID_ACTION if the action is outside the action space."""
    reason, space = reason_of(error), hosted.env.action_space
    if reason is Reason.RESET_NEEDED or _contains(space, action):
        return fault_from_exception(error, reason)
    fault = fault_from_exception(error, Reason.INVALID_ACTION)
    fault.metadata |= {"action": _text(action), "action_space": _text(space)}
    return fault


def _text(value: Any) -> str:
    """Returns the beginning of a value's `repr`. That may raise: Python prints no integer of over 4,300 digits."""
    try:
        return repr(value)[:200]
    except Exception as error:
        return f"{type(value).__name__} without a text: {error}"[:200]


def _contains(space: Any, action: Any) -> bool:
    """Returns whether an action is in a space; warnings of the check itself are suppressed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return bool(space.contains(action))
        except Exception:
            return False


def render(hosted: HostedEnv, _: pb.RenderRequest, answer: Answer) -> None:
    """Renders the current state."""
    frame = hosted.call(hosted.env.render)
    write(frame, answer.message.render.frame, "frame", answer.attachments)


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
