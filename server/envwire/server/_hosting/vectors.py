"""Makes vector environments: several environments of one id, driven together in one session."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from envwire.codec import Family, FaultError, Reason
from envwire.server._hosting.library import Library, check_free
from envwire.server._hosting.vector_hosts import MembersHost, NativeHost
from envwire.v1 import environment_pb2

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
