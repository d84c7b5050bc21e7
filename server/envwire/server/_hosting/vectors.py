"""Vector environments: several environments of one id in one session, made and driven together."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import partial
from typing import Any, TypeGuard

import numpy as np

from envwire.codec import Family, FaultError, Reason, fault_from_exception
from envwire.envs.type_guards import is_array, is_mapping, is_tuple_or_list
from envwire.server._hosting.columns import columns, gather
from envwire.server._hosting.library import Library
from envwire.server._hosting.spaces import write_spaces
from envwire.v1 import environment_pb2

_MASK = "reset_mask"
_DEFAULT_AUTORESET = "NEXT_STEP"

#: Makes a wrapper: the class and its keyword arguments.
WrapperCall = tuple[Callable[..., Any], Mapping[str, Any]]


class NativeHost:
    """A vector environment in the shape that a session drives; what it has, it has once.

    Args:
        env: The vector environment.
    """

    def __init__(self, env: Any) -> None:
        self.env = env
        self.num_envs: int = env.num_envs
        self.observation_space = env.observation_space
        self.action_space = env.action_space
        self.single_observation_space = env.single_observation_space
        self.single_action_space = env.single_action_space
        self.metadata = env.metadata
        self.render_mode = env.render_mode
        self.spec = env.spec
        self.step: Callable[[Any], tuple[Any, Any, Any, Any, Any]] = env.step
        self.render: Callable[[], Any] = env.render
        self.close: Callable[[], None] = env.close

    def __str__(self) -> str:
        return str(self.env)

    @property
    def unwrapped(self) -> Any:
        """The vector environment itself, which has the generator."""
        return self.env.unwrapped

    def reset(self, **kwargs: Any) -> tuple[Any, Any]:
        """Starts an episode in every environment."""
        observations, infos = self.env.reset(**kwargs)
        return observations, infos

    def get_wrapper_attr(self, name: str) -> Any:
        """Returns an attribute.

        Raises:
            AttributeError: There is none of that name.
        """
        return getattr(self.env, name)

    def set_wrapper_attr(self, name: str, value: Any, *, force: bool = True) -> bool:
        """Sets an attribute; returns whether it was set."""
        if not force and not hasattr(self.env, name):
            return False
        setattr(self.env, name, value)
        return True


class MembersHost(NativeHost):
    """A `SyncVectorEnv` of either library. Its attributes are those of its members, one of each.

    Args:
        env: A `SyncVectorEnv` that does not copy its observations: they are sent before the next step.
    """

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        env._add_info = gather  # infos are put together where all environments are
        self._step: Callable[[Any], tuple[Any, Any, Any, Any, Any]] = env.step
        self._observations: Any = None
        self.step = self._take_step

    @property
    def members(self) -> Sequence[Any]:
        """The environments, each in its wrappers."""
        members: Sequence[Any] = self.env.envs
        return members

    def reset(
        self, *, member_options: Sequence[dict[Any, Any]] = (), **kwargs: Any
    ) -> tuple[Any, Any]:
        """Starts an episode in every member, or in those that a mask chooses.

        Args:
            member_options: Options of each member, in place of one for all.
            kwargs: Seed and options.
        """
        if self._observations is not None and _chooses_none(kwargs.get("options"), self.num_envs):
            return self._observations, {}
        with self._told(member_options):
            self._observations, infos = self.env.reset(**kwargs)
        return self._observations, columns(infos, self.num_envs)

    def _take_step(self, actions: Any) -> tuple[Any, Any, Any, Any, Any]:
        observations, rewards, terminations, truncations, infos = self._step(actions)
        self._observations = observations
        if infos:
            infos = columns(infos, self.num_envs)
        return observations, rewards, terminations, truncations, infos

    @contextlib.contextmanager
    def _told(self, options: Sequence[dict[Any, Any]]) -> Generator[None]:
        """Lets each member be reset with options of its own."""
        members = self.members
        if not options:
            yield
            return
        self.env.envs = [_Told(*each) for each in zip(members, options, strict=True)]
        try:
            yield
        finally:
            self.env.envs = members

    def some(self, indices: Sequence[int]) -> Members:
        """Returns some of the members.

        Raises:
            FaultError: INVALID_VALUE when there is no such member.
        """
        if max(indices) >= self.num_envs:
            raise FaultError(
                Reason.INVALID_VALUE,
                f"there is no member {max(indices)} among {self.num_envs}; count them from 0",
            )
        return Members([self.members[index] for index in indices])

    def get_wrapper_attr(self, name: str) -> Any:
        """Returns the attribute of all members (see `Members`)."""
        return Members(self.members).get_wrapper_attr(name)

    def set_wrapper_attr(self, name: str, value: Any, *, force: bool = True) -> bool:
        """Sets the attribute of all members (see `Members`)."""
        return Members(self.members).set_wrapper_attr(name, value, force=force)


class Members:
    """Environments whose attributes are one of each.

    Args:
        envs: The environments.
    """

    def __init__(self, envs: Sequence[Any]) -> None:
        self._envs = envs

    def get_wrapper_attr(self, name: str) -> Any:
        """Returns a tuple of every member's attribute, or a function that calls every member's method.

        Raises:
            AttributeError: A member has none of that name.
        """
        found = tuple(env.get_wrapper_attr(name) for env in self._envs)
        return partial(_call_each, found) if any(map(callable, found)) else found

    def set_wrapper_attr(self, name: str, value: Any, *, force: bool = True) -> bool:
        """Sets an attribute of every member, to its element of a list or tuple, or all to one value.

        Raises:
            ValueError: There are not as many values as members.
        """
        if not force:
            self.get_wrapper_attr(name)
        each = value if is_tuple_or_list(value) else [value] * len(self._envs)
        if len(each) != len(self._envs):
            raise ValueError(
                f"{len(each)} values of {name!r} for {len(self._envs)} environments; give one for each"
            )
        for env, own in zip(self._envs, each, strict=True):
            env.set_wrapper_attr(name, own)
        return True


class _Told:
    """A member that is reset with options of its own."""

    def __init__(self, member: Any, options: dict[Any, Any]) -> None:
        self._member = member
        self._options = options or None

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        del options
        return self._member.reset(seed=seed, options=self._options)


def _call_each(found: Sequence[Any], /, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
    return tuple(each(*args, **kwargs) if callable(each) else each for each in found)


def _chooses_none(options: Any, num_envs: int) -> bool:
    """Whether a mask leaves out this whole session, which is then asked only for what there is to see."""
    mask = options.get(_MASK) if is_mapping(options) else None
    fits = is_array(mask) and mask.shape == (num_envs,) and mask.dtype == np.bool_
    return bool(fits and not np.any(mask))


def make_vector(
    library: Library,
    request: environment_pb2.MakeRequest,
    wrappers: Sequence[WrapperCall],
    kwargs: Mapping[str, Any],
) -> NativeHost:
    """Makes the vector environment that a client asked for.

    Raises:
        FaultError: The library or the environment has no such vector environments, or a constructor raised.
    """
    mode = request.vector.vectorization_mode or "sync"
    make = _MAKERS.get(mode)
    if make is None:
        raise FaultError(
            Reason.INVALID_VALUE,
            f"vectorization mode {mode!r} is not one of {', '.join(_MAKERS)}: a session steps its environments in one "
            "process; for more processes make more sessions",
        )
    try:
        return make(library, request, [partial(_wrap, *each) for each in wrappers], kwargs)
    except FaultError:
        raise
    except Exception as error:
        raise fault_from_exception(error) from error


def _wrap(wrapper: Callable[..., Any], kwargs: Mapping[str, Any], env: Any) -> Any:
    return wrapper(env, **kwargs)


def _autoreset(family: Family, request: environment_pb2.MakeRequest) -> Any:
    """Returns the autoreset mode that was asked for, as a member of the library's enumeration."""
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


def _make_members(
    library: Library,
    request: environment_pb2.MakeRequest,
    wrappers: Sequence[Callable[[Any], Any]],
    kwargs: Mapping[str, Any],
) -> NativeHost:
    settings = {"autoreset_mode": _autoreset(library.family, request), "copy": False}
    return MembersHost(_make_vec(library, request, wrappers, kwargs, "sync", settings))


def _make_native(
    library: Library,
    request: environment_pb2.MakeRequest,
    wrappers: Sequence[Callable[[Any], Any]],
    kwargs: Mapping[str, Any],
) -> NativeHost:
    mode = _autoreset(library.family, request)
    env = _make_vec(library, request, wrappers, kwargs, "vector_entry_point", None)
    has = env.metadata.get("autoreset_mode", mode)
    if request.vector.autoreset_mode and has != mode:
        env.close()
        raise FaultError(
            Reason.UNSUPPORTED,
            f"{request.env_id} as a native vector environment resets by {has}, not by {mode}; leave the mode out, or "
            "use vectorization mode 'sync'",
        )
    return NativeHost(env)


def _make_vec(
    library: Library,
    request: environment_pb2.MakeRequest,
    wrappers: Sequence[Callable[[Any], Any]],
    kwargs: Mapping[str, Any],
    mode: str,
    settings: dict[str, Any] | None,
) -> Any:
    return library.make_vec(
        request.env_id,
        num_envs=request.vector.num_envs,
        vectorization_mode=mode,
        vector_kwargs=settings,
        wrappers=wrappers,
        **kwargs,
    )


_MAKERS: dict[str, Callable[..., NativeHost]] = {
    "sync": _make_members,
    "vector_entry_point": _make_native,
}


def is_vector(env: Any) -> TypeGuard[NativeHost]:
    """Tells whether a session drives a vector environment."""
    return isinstance(env, NativeHost)


def describe_vector(host: NativeHost, info: environment_pb2.VectorInfo) -> None:
    """Writes what a vector environment shows beyond a single one.

    Raises:
        FaultError: UNSUPPORTED when a space has no wire form.
    """
    info.num_envs = host.num_envs
    write_spaces(host, info, "single_observation_space", "single_action_space")
    info.autoreset_mode = getattr(host.metadata.get("autoreset_mode"), "name", "")
