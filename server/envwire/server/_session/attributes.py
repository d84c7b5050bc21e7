"""Requests that get, set and call attributes of an environment."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import Any

from envwire.codec import FaultError, Reason, encode_value, fault_from_exception
from envwire.server._hosting.np_random import mirror
from envwire.server._hosting.vector.vector_hosts import MembersHost
from envwire.server._session.hosted_env import Answer, HostedEnv
from envwire.v1 import environment_pb2 as pb

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
