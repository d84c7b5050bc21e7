"""Makes an environment and its wrappers from a Make request, or several in one session, and describes it."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from envwire.codec import (
    CodecError,
    Family,
    FaultError,
    Reason,
    decode_mapping,
    encode_env_spec,
    encode_mapping,
    encode_space,
    encode_value,
    fault_from_exception,
)
from envwire.codec.values.tensors import FillAllowance
from envwire.server._hosting.libraries import Catalogue
from envwire.server._hosting.library import Library, check_free
from envwire.server._hosting.vector_hosts import MembersHost, NativeHost, is_vector
from envwire.v1 import environment_pb2, values_pb2

_DEFAULT_AUTORESET = "NEXT_STEP"
#: The vectorization modes: members that step one after another, or environments that step as arrays.
_SYNC, _NATIVE = "sync", "vector_entry_point"
#: The observation modes.
_SAME, DIFFERENT = "same", "different"


def make_vector(
    library: Library,
    request: environment_pb2.MakeRequest,
    wrappers: Sequence[Callable[[Any], Any]],
    kwargs: Mapping[str, Any],
    member_kwargs: Sequence[Mapping[str, Any]] = (),
) -> NativeHost:
    """Makes the vector environment that a client asked for.

    Args:
        library: The library of the environment.
        request: The client's Make.
        wrappers: Make the wrappers of each member, innermost first.
        kwargs: Keyword arguments of all members.
        member_kwargs: Further ones of each member; empty if they are equal.

    Raises:
        FaultError: The library or the environment does not offer this vector environment.
        Exception: What a constructor raised.
    """
    mode = request.vector.vectorization_mode or _SYNC
    if mode not in (_SYNC, _NATIVE):
        raise FaultError(
            Reason.INVALID_VALUE,
            f"vectorization mode {mode!r} is not one of {_SYNC}, {_NATIVE}: a session steps its environments in one "
            "process; for more processes make more sessions",
        )
    autoreset = _autoreset(library.family, request)
    observations = request.vector.observation_mode or _SAME
    if mode == _NATIVE and (member_kwargs or observations != _SAME):
        raise FaultError(
            Reason.INVALID_VALUE,
            f"members that differ step one after another: give member_kwargs and observation_mode with vectorization "
            f"mode {_SYNC!r}",
        )
    members = {"autoreset_mode": autoreset, "copy": False, "observation_mode": observations}
    settings = members if mode == _SYNC else None
    given: dict[str, Any] = {
        "num_envs": request.vector.num_envs,
        "vectorization_mode": mode,
        "vector_kwargs": settings,
        "wrappers": wrappers,
    }
    check_free("make_vec", {"id", *given}, kwargs)
    if member_kwargs:
        make = partial(_make_member, library, request.env_id, wrappers)
        makers = [partial(make, {**kwargs, **own}) for own in member_kwargs]
        env = library.make_members(makers, **members)
    else:
        env = library.make_vec(request.env_id, **given, **kwargs)
    if mode == _SYNC:
        return MembersHost(env, report_resets=request.vector.report_member_resets)
    return _native(env, autoreset, request)


def _make_member(
    library: Library,
    env_id: str,
    wrappers: Sequence[Callable[[Any], Any]],
    kwargs: Mapping[str, Any],
) -> Any:
    env = library.make(env_id, **kwargs)
    for wrapper in wrappers:  # innermost first
        env = wrapper(env)
    return env


def _autoreset(family: Family, request: environment_pb2.MakeRequest) -> Any:
    """Returns the requested autoreset mode as a member of the library's enumeration."""
    modes: Any = family.AutoresetMode
    name = request.vector.autoreset_mode or _DEFAULT_AUTORESET
    if modes is None:
        raise FaultError(
            Reason.UNSUPPORTED,
            f"vector environments of {family.name} need version 1.1 or later on the server; make single ones",
        )
    if name not in modes.__members__:
        raise FaultError(
            Reason.INVALID_VALUE,
            f"autoreset mode {name!r} is not one of {', '.join(modes.__members__)}",
        )
    return modes[name]


def _native(env: Any, autoreset: Any, request: environment_pb2.MakeRequest) -> NativeHost:
    """Returns a native vector environment; closes one whose autoreset mode is not the requested one."""
    has = env.metadata.get("autoreset_mode", autoreset)
    if request.vector.autoreset_mode and has != autoreset:
        env.close()
        raise FaultError(
            Reason.UNSUPPORTED,
            f"{request.env_id} as a native vector environment resets by {has}, not by {autoreset}; leave the mode out, "
            "or use vectorization mode 'sync'",
        )
    return NativeHost(env)


_ANY_REWARD = (-float("inf"), float("inf"))


def make_environment(
    catalogue: Catalogue, request: environment_pb2.MakeRequest
) -> tuple[Any, Family]:
    """Makes the environment that a client asked for; the operator's lists were checked before.

    Raises:
        FaultError: The id or a wrapper is unknown, an argument cannot be decoded, or a constructor raised.
    """
    listing = catalogue.find(request.env_id, request.library, request.prefer)
    family = listing.library.family
    allowance = FillAllowance()
    kwargs = _keywords(request.kwargs, "kwargs", family, allowance)
    wrappers = [
        partial(
            catalogue.wrapper(wrapper.name, listing.library),
            **_keywords(wrapper.kwargs, wrapper.name, family, allowance),
        )
        for wrapper in request.wrappers
    ]
    if request.HasField("render_mode"):
        kwargs["render_mode"] = request.render_mode
    env: Any = None
    try:
        if request.HasField("vector"):
            members = [
                _keywords(each, f"member_kwargs[{index}]", family, allowance)
                for index, each in enumerate(request.vector.member_kwargs)
            ]
            return make_vector(listing.library, request, wrappers, kwargs, members), family
        env = listing.library.make(request.env_id, **kwargs)
        for wrapper in wrappers:  # innermost first
            env = wrapper(env)
        return listing.library.hosted(env), family
    except Exception as error:
        with contextlib.suppress(Exception):  # there is none if `make` raised
            env.close()
        raise fault_from_exception(error) from error


def _keywords(
    message: values_pb2.ValueMap, path: str, family: Family, allowance: FillAllowance
) -> dict[str, Any]:
    try:
        keywords = decode_mapping(message, family, path, opaque=False, allowance=allowance)
    except CodecError as error:
        raise FaultError(Reason.INVALID_VALUE, str(error)) from error
    for name in keywords:
        if not isinstance(name, str):
            raise FaultError(
                Reason.INVALID_VALUE,
                f"{path}: keyword {name!r} is not a text; name keywords by texts",
            )
    return keywords


def describe(env: Any, family: Family) -> environment_pb2.MakeResponse:
    """Describes `env` for its proxy: spaces, metadata, render mode, reward range, specification.

    An environment that cannot be described is closed, since no session will close it.

    Raises:
        FaultError: UNSUPPORTED when a space has no wire form.
    """
    try:
        return _description(env, family)
    except Exception:
        with contextlib.suppress(Exception):
            env.close()
        raise


def _description(env: Any, family: Family) -> environment_pb2.MakeResponse:
    response = environment_pb2.MakeResponse(library=family.name, description=_described(env))
    _write_spaces(env, response, "observation_space", "action_space")
    encode_mapping(dict(env.metadata or {}), response.metadata, "metadata", opaque=True)
    if env.render_mode is not None:
        response.render_mode = str(env.render_mode)
    encode_value(_reward_range(env), response.reward_range, "reward_range", opaque=True)
    if env.spec is not None:
        encode_env_spec(env.spec, response.spec)
    if is_vector(env):
        response.vector.num_envs = env.num_envs
        _write_spaces(env, response.vector, "single_observation_space", "single_action_space")
        if isinstance(env, MembersHost) and env.observation_mode == DIFFERENT:
            for member in env.members:
                encode_space(
                    member.observation_space, response.vector.member_observation_spaces.add()
                )
        mode = env.metadata.get("autoreset_mode")
        response.vector.autoreset_mode = getattr(mode, "name", "")
    return response


def _write_spaces(env: Any, message: Any, *names: str) -> None:
    """Writes spaces of `env` into the fields of `message` with the same names."""
    try:
        for name in names:
            encode_space(getattr(env, name), getattr(message, name), name)
    except CodecError as error:
        raise FaultError(Reason.UNSUPPORTED, str(error)) from error


def _reward_range(env: Any) -> Any:
    # Gymnasium removed the attribute in 1.0; older environments and envwire's own still have it.
    reward_range = getattr(env, "reward_range", None)
    if reward_range is None:
        reward_range = getattr(env.unwrapped, "reward_range", _ANY_REWARD)
    return reward_range


#: Compiled before sessions are forked.
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def _described(env: Any) -> str:
    """Returns the `str` of the wrapped environment, without the memory address of a default `repr`."""
    return _ADDRESS.sub("", str(env))[:1000]
