"""Requests that drive episodes and reach attributes, and the table of all requests.

Values of answers that have no wire form become faults.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
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
from envwire.server._hosting.vector_hosts import MembersHost, is_vector
from envwire.server._session.hosted_env import Answer, HostedEnv, reason_of
from envwire.server._session.states import Event
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import values_pb2
from envwire.wire.frames import Attachments

#: Attributes that hold the generator itself, of which the state is sent.
_GENERATORS = frozenset({"np_random", "_np_random"})


def get_attribute(hosted: HostedEnv, request: pb.GetAttributeRequest, answer: Answer) -> None:
    """Reads an attribute of the outermost wrapper that has it; of a generator, the state is sent."""
    name, response = request.name, answer.message.get_attribute
    if request.probe:
        response.exists = hosted.attribute_access.sees(name) and _has(hosted, name)
        return
    hosted.attribute_access.check_read(name)
    if name in _GENERATORS:
        _mirror_generators(hosted, name, response)
        return
    value = _found(hosted, name, request.members)
    response.exists = True
    if callable(value):
        response.callable = True
    else:
        encode_value(value, response.value, name, opaque=True, attachments=answer.attachments)


def _mirror_generators(hosted: HostedEnv, name: str, response: pb.GetAttributeResponse) -> None:
    response.exists = True
    members = hosted.env.members if isinstance(hosted.env, MembersHost) else ()
    for env in members or (hosted.env,):
        hosted.call(getattr, env.unwrapped, name)  # reading "np_random" creates the generator
        mirror(env, response.member_random.add() if members else response.random)


def _has(hosted: HostedEnv, name: str) -> bool:
    probe = _method(hosted.env, "has_wrapper_attr")  # Gymnasium has it since 1.0
    if probe is not None:
        return bool(hosted.call(probe, hosted.env, name))
    try:
        hosted.env.get_wrapper_attr(name)
    except AttributeError:
        return False
    return True


def _found(hosted: HostedEnv, name: str, members: Sequence[int]) -> Any:
    env = hosted.chosen(members)
    try:
        return env.get_wrapper_attr(name)
    except AttributeError as error:
        raise fault_from_exception(error, Reason.ATTRIBUTE_MISSING) from error
    except Exception as error:
        raise fault_from_exception(error) from error


def set_attribute(hosted: HostedEnv, request: pb.SetAttributeRequest, answer: Answer) -> None:
    """Sets an attribute on the outermost wrapper that has it."""
    hosted.attribute_access.check_set(request.name)
    value = hosted.read(request.value)
    env = hosted.chosen(request.members)
    # Gymnasium 0.29 has no set_wrapper_attr, 1.0 has it without `force`.
    setter = partial(_method(env, "set_wrapper_attr") or _set_where_it_is, env)
    if "force" in _parameters(setter):
        was_set = hosted.call(setter, request.name, value, force=request.force)
    else:
        hosted.call(setter, request.name, value)
        was_set = True
    answer.message.set_attribute.set = bool(was_set)


def _method(env: object, name: str) -> Callable[..., Any] | None:
    """Looks a method up on the class, since `getattr` on a Gymnasium 0.29 wrapper forwards inwards and warns."""
    return getattr(type(env), name, None)


def _set_where_it_is(env: Any, name: str, value: Any, *, force: bool) -> bool:
    owners = (each for each in _layers(env) if name in vars(each) or hasattr(type(each), name))
    owner = next(owners, env if force else None)
    if owner is not None:
        setattr(owner, name, value)
    return owner is not None


def _layers(env: Any) -> Iterator[object]:
    """Yields an environment's wrappers, outermost first, then the innermost environment."""
    yield env
    while env is not env.unwrapped:
        env = env.env
        yield env


def _parameters(function: Callable[..., Any]) -> Collection[str]:
    try:
        return inspect.signature(function).parameters
    except ValueError:  # a builtin without a signature
        return ()


def call_method(hosted: HostedEnv, request: pb.CallMethodRequest, answer: Answer) -> None:
    """Calls a method of the outermost wrapper that has it."""
    hosted.attribute_access.check_call(request.name)
    method = _found(hosted, request.name, request.members)
    if not callable(method):
        raise FaultError(
            Reason.ATTRIBUTE_NOT_ALLOWED,
            f"{request.name!r} is not a method; read it with GetAttribute",
        )
    args, named = hosted.read_each((request.args, request.kwargs))
    kwargs = {str(key): value for key, value in named.items()}
    result = hosted.call(method, *args, **kwargs)
    message = answer.message.call_method.result
    encode_value(result, message, "result", opaque=True, attachments=answer.attachments)


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
