"""What each request does to the environment: one function each, and the table of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NoReturn, TypeVar, cast

from envwire.codec import (
    CodecError,
    Family,
    FaultError,
    Reason,
    decode_mapping,
    decode_value,
    decode_values,
    encode_mapping,
    encode_value,
    fault_from_exception,
)
from envwire.codec.frames import Attachments
from envwire.codec.steps import number, truth
from envwire.server import _randomness
from envwire.server._reach import EVERYTHING, Reach
from envwire.server._snapshots import Snapshots
from envwire.server._states import Event
from envwire.server._vectors import MembersHost
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import values_pb2

_T = TypeVar("_T")

#: Attributes that carry the generator itself, which travels as its state.
_GENERATORS = frozenset({"np_random", "_np_random"})


@dataclass(frozen=True)
class Hosted:
    """An environment, the library whose classes it speaks, what of it clients may reach, and its kept states."""

    env: Any
    family: Family
    reach: Reach = EVERYTHING
    snapshots: Snapshots = field(init=False)

    def __post_init__(self) -> None:
        """Looks whether the environment offers its states."""
        object.__setattr__(self, "snapshots", Snapshots(self.env))

    def call(self, function: Callable[..., _T], /, *args: Any, **kwargs: Any) -> _T:
        """Calls the environment, which may raise anything.

        Raises:
            FaultError: ENVIRONMENT_RAISED or RESET_NEEDED, with the exception and the traceback.
        """
        try:
            return function(*args, **kwargs)
        except Exception as error:
            raise fault_from_exception(error, _reason(error)) from error


def _reason(error: Exception) -> Reason:
    reset_needed = type(error).__name__ == "ResetNeeded"
    return Reason.RESET_NEEDED if reset_needed else Reason.ENVIRONMENT_RAISED


def _refused(error: CodecError) -> NoReturn:
    raise FaultError(Reason.INVALID_VALUE, str(error)) from error


def _mapping(message: values_pb2.ValueMap, family: Family) -> dict[Any, Any]:
    try:
        return decode_mapping(message, family, opaque=False)
    except CodecError as error:
        _refused(error)


def _value(message: values_pb2.Value, family: Family) -> Any:
    try:
        return decode_value(message, family, opaque=False)
    except CodecError as error:
        _refused(error)


def _encode_observation(
    observation: Any, message: values_pb2.Value, attachments: Attachments | None
) -> None:
    try:
        encode_value(observation, message, "observation", attachments=attachments)
    except CodecError as error:
        raise FaultError(Reason.UNSUPPORTED, str(error)) from error


def _encode_info(info: Any, message: values_pb2.ValueMap, attachments: Attachments | None) -> None:
    if not isinstance(info, Mapping):
        raise FaultError(
            Reason.ENVIRONMENT_RAISED,
            f"the environment returned an info of type {type(info).__name__}; it must be a dict",
        )
    message.SetInParent()
    mapping = cast("dict[Any, Any]", info)
    encode_mapping(mapping, message, "info", opaque=True, attachments=attachments)


def _mirror(hosted: Hosted, random: pb.RandomMirror) -> None:
    random.SetInParent()
    _randomness.mirror(hosted.env, random)


def reset(
    hosted: Hosted,
    request: pb.ResetRequest,
    reply: pb.InteractResponse,
    attachments: Attachments | None,
) -> Event:
    """Starts an episode; seed and options reach the environment only when they were given."""
    env, family, response = hosted.env, hosted.family, reply.reset
    kwargs: dict[str, Any] = {}
    if request.HasField("seed"):
        kwargs["seed"] = _value(request.seed, family)
    if request.HasField("options"):
        kwargs["options"] = _mapping(request.options, family)
    if request.member_options:
        kwargs["member_options"] = _member_options(hosted, request)
    if request.HasField("np_random"):
        _restore(hosted, request)
    observation, info = hosted.call(lambda: _pair(env.reset(**kwargs)))
    _encode_observation(observation, response.observation, attachments)
    _encode_info(info, response.info, attachments)
    if request.mirror_np_random:
        _mirror(hosted, response.random)
    return Event.RESET


def _chosen(hosted: Hosted, members: Sequence[int]) -> Any:
    """Returns the members of a vector environment that a request names; the environment when it names none."""
    if not members:
        return hosted.env
    return _with_members(hosted).some(members)


def _with_members(hosted: Hosted) -> MembersHost:
    if not isinstance(hosted.env, MembersHost):
        raise FaultError(
            Reason.UNSUPPORTED, "this environment has no members; ask without naming some"
        )
    return hosted.env


def _member_options(hosted: Hosted, request: pb.ResetRequest) -> list[dict[Any, Any]]:
    _with_members(hosted)
    return [_mapping(options, hosted.family) for options in request.member_options]


def _pair(result: Any) -> tuple[Any, Any]:
    observation, info = result
    return observation, info


def _restore(hosted: Hosted, request: pb.ResetRequest | pb.StepRequest) -> None:
    try:
        _randomness.restore(hosted.env, request.np_random)
    except CodecError as error:
        _refused(error)


def read_action(hosted: Hosted, request: pb.StepRequest) -> Any:
    """Returns the action of a request, and gives the environment the generator that came with it.

    Raises:
        FaultError: The action or the generator cannot be read.
    """
    action = _value(request.action, hosted.family)
    if request.HasField("np_random"):
        _restore(hosted, request)
    return action


def take_step(hosted: Hosted, action: Any) -> tuple[Any, Any, Any, Any, Any]:
    """Takes one step and returns what the environment returned.

    Raises:
        FaultError: The environment raised.
    """
    try:
        observation, reward, terminated, truncated, info = hosted.env.step(action)
    except Exception as error:
        raise _step_fault(hosted, action, error) from error
    return observation, reward, terminated, truncated, info


def encode_step(
    hosted: Hosted,
    result: tuple[Any, Any, Any, Any, Any],
    mirror: bool,
    reply: pb.InteractResponse,
    attachments: Attachments | None,
) -> Event:
    """Writes what a step returned; reward and flags keep the types that the environment gave them."""
    observation, reward, terminated, truncated, info = result
    response = reply.step
    _encode_observation(observation, response.observation, attachments)
    _encode_reward(reward, response)
    response.terminated = hosted.call(_flag, terminated, response, "terminated")
    response.truncated = hosted.call(_flag, truncated, response, "truncated")
    _encode_info(info, response.info, attachments)
    if mirror:
        _mirror(hosted, response.random)
    return step_event(result)


def step_event(result: tuple[Any, Any, Any, Any, Any]) -> Event:
    """Returns what a step did to the session. Arrays of flags are a vector environment's, which resets its own."""
    ended = truth(result[2]) or truth(result[3])
    return Event.STEP_ENDED if ended else Event.STEP


def _step_fault(hosted: Hosted, action: Any, error: Exception) -> FaultError:
    """Looks, only after the environment refused it, whether the action was at fault."""
    reason, space = _reason(error), hosted.env.action_space
    if reason is Reason.RESET_NEEDED or _contains(space, action):
        return fault_from_exception(error, reason)
    fault = fault_from_exception(error, Reason.INVALID_ACTION)
    fault.metadata |= {"action": repr(action)[:200], "action_space": str(space)[:200]}
    return fault


def _contains(space: Any, action: Any) -> bool:
    try:
        return bool(space.contains(action))
    except Exception:
        return False


def _encode_reward(reward: Any, response: pb.StepResponse) -> None:
    if type(reward) is float:
        response.reward = reward
        return
    encode_value(reward, response.typed_reward, "reward", opaque=True)
    response.reward = number(reward)


def _flag(flag: Any, response: pb.StepResponse, name: str) -> bool:
    if type(flag) is not bool:
        encode_value(flag, getattr(response, f"typed_{name}"), name, opaque=True)
    return truth(flag)


def render(
    hosted: Hosted,
    _: pb.RenderRequest,
    reply: pb.InteractResponse,
    attachments: Attachments | None,
) -> None:
    """Renders the present state."""
    frame = hosted.call(hosted.env.render)
    try:
        encode_value(frame, reply.render.frame, "frame", attachments=attachments)
    except CodecError as error:
        raise FaultError(Reason.UNSUPPORTED, str(error)) from error


def close(
    hosted: Hosted,
    _: pb.CloseRequest,
    reply: pb.InteractResponse,
    __: Attachments | None,
) -> None:
    """Closes the environment. The session is over even when that raises."""
    reply.close.SetInParent()
    hosted.call(hosted.env.close)


def get_attribute(
    hosted: Hosted,
    request: pb.GetAttributeRequest,
    reply: pb.InteractResponse,
    attachments: Attachments | None,
) -> None:
    """Reads an attribute of the outermost wrapper that has it; generators travel as their state."""
    name, response = request.name, reply.get_attribute
    if request.probe:
        response.exists = hosted.reach.sees(name) and _has(hosted, name)
        return
    hosted.reach.check_read(name)
    if name in _GENERATORS:
        _mirror_generators(hosted, name, response)
        return
    value = _found(hosted, name, request.members)
    response.exists = True
    if callable(value):
        response.callable = True
    else:
        encode_value(value, response.value, name, opaque=True, attachments=attachments)


def _mirror_generators(hosted: Hosted, name: str, response: pb.GetAttributeResponse) -> None:
    response.exists = True
    members = hosted.env.members if isinstance(hosted.env, MembersHost) else ()
    for env in members or (hosted.env,):
        hosted.call(getattr, env.unwrapped, name)  # reading "np_random" creates the generator
        random = response.member_random.add() if members else response.random
        random.SetInParent()
        _randomness.mirror(env, random)


def _has(hosted: Hosted, name: str) -> bool:
    probe = _method(hosted.env, "has_wrapper_attr")  # Gymnasium has it since 1.0
    if probe is not None:
        return bool(hosted.call(probe, hosted.env, name))
    try:
        hosted.env.get_wrapper_attr(name)
    except AttributeError:
        return False
    return True


def _found(hosted: Hosted, name: str, members: Sequence[int]) -> Any:
    env = _chosen(hosted, members)
    try:
        return env.get_wrapper_attr(name)
    except AttributeError as error:
        raise fault_from_exception(error, Reason.ATTRIBUTE_MISSING) from error
    except Exception as error:
        raise fault_from_exception(error) from error


def set_attribute(
    hosted: Hosted,
    request: pb.SetAttributeRequest,
    reply: pb.InteractResponse,
    _: Attachments | None,
) -> None:
    """Sets an attribute on the outermost wrapper that has it."""
    hosted.reach.check_set(request.name)
    value = _value(request.value, hosted.family)
    env = _chosen(hosted, request.members)
    # Gymnasium 0.29 has no set_wrapper_attr, 1.0 has it without `force`.
    setter = partial(_method(env, "set_wrapper_attr") or _set_where_it_is, env)
    if "force" in _parameters(setter):
        was_set = hosted.call(setter, request.name, value, force=request.force)
    else:
        hosted.call(setter, request.name, value)
        was_set = True
    reply.set_attribute.set = bool(was_set)


def _method(env: object, name: str) -> Callable[..., Any] | None:
    """Returns a method of the object's class: a wrapper of Gymnasium 0.29 would ask what it wraps for it, and warn."""
    return getattr(type(env), name, None)


def _set_where_it_is(env: Any, name: str, value: Any, *, force: bool) -> bool:
    owners = (each for each in _layers(env) if name in vars(each) or hasattr(type(each), name))
    owner = next(owners, env if force else None)
    if owner is not None:
        setattr(owner, name, value)
    return owner is not None


def _layers(env: Any) -> Iterator[object]:
    """Yields an environment's wrappers from the outermost on, then what they wrap."""
    yield env
    while env is not env.unwrapped:
        env = env.env
        yield env


def _parameters(function: Callable[..., Any]) -> Collection[str]:
    try:
        return inspect.signature(function).parameters
    except ValueError:  # a builtin that does not tell
        return ()


def call_method(
    hosted: Hosted,
    request: pb.CallMethodRequest,
    reply: pb.InteractResponse,
    attachments: Attachments | None,
) -> None:
    """Calls a method of the outermost wrapper that has it."""
    hosted.reach.check_call(request.name)
    method = _found(hosted, request.name, request.members)
    if not callable(method):
        raise FaultError(
            Reason.ATTRIBUTE_NOT_ALLOWED,
            f"{request.name!r} is not a method; read it with GetAttribute",
        )
    try:
        args = decode_values(request.args, hosted.family, opaque=False)
    except CodecError as error:
        _refused(error)
    kwargs = {str(key): value for key, value in _mapping(request.kwargs, hosted.family).items()}
    result = hosted.call(method, *args, **kwargs)
    answer = reply.call_method.result
    encode_value(result, answer, "result", opaque=True, attachments=attachments)


def save_state(
    hosted: Hosted,
    _: pb.SaveStateRequest,
    reply: pb.InteractResponse,
    __: Attachments | None,
) -> None:
    """Keeps the present state."""
    reply.save_state.state = hosted.snapshots.save()


def restore_state(
    hosted: Hosted,
    request: pb.RestoreStateRequest,
    reply: pb.InteractResponse,
    _: Attachments | None,
) -> Event:
    """Goes back to a state, from which the episode goes on."""
    reply.restore_state.SetInParent()
    hosted.snapshots.restore(request.state)
    return Event.RESET


Operation = Callable[[Hosted, Any, pb.InteractResponse, Attachments | None], Event | None]

#: One operation for each request of a session by its field in InteractRequest, but for two: a step is taken and encoded
#: apart, because its usual answer is written without a message, and a replay consists of other requests.
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

#: The requests of a session.
SESSION_REQUESTS = frozenset({"step", "replay", *OPERATIONS})
