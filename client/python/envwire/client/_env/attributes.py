"""The attributes of a remote environment: those that its Make returned, and those that are read from the server."""

from __future__ import annotations

import copy
import re
import warnings
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from envwire.client._drivers.coroutines import run
from envwire.client._env.episodes import MirroredRandom, call, generator
from envwire.client._env.step_line import Call, StepLine
from envwire.client._recovery.session_handle import (
    BaseSessionHandle,
    ConnectionStats,
    SessionHandle,
)
from envwire.client._session.attribute_operations import (
    CallMethod,
    GetAttribute,
    GetRandom,
    HasAttribute,
    SetAttribute,
)
from envwire.client._session.operations import NewSpaces
from envwire.client._session.states import Notice
from envwire.client.errors import InvalidRequestError, NotAllowedError
from envwire.client.options import ProxyArguments
from envwire.codec import (
    CodecError,
    Family,
    decode_env_spec,
    decode_mapping,
    decode_space,
    decode_value,
)
from envwire.codec.steps import StepResult
from envwire.codec.values.tensors import FillAllowance
from envwire.envs.type_guards import is_array
from envwire.v1 import environment_pb2

if TYPE_CHECKING:
    from typing_extensions import Self

H = TypeVar("H", bound=BaseSessionHandle[Any])

#: Names that a proxy is never asked for on the server: those of Python, of proxies, and those that Jupyter and
#: Gymnasium look for on every object.
_OWN_NAMES = re.compile(r"__|_(handle|remote|cached_spec|kept_spec|repr_\w*_|ipython_\w*)$")
_SPACES = NewSpaces._fields
#: What a proxy sets after its handle, from the answer to its Make.
_DESCRIBED = frozenset(
    (*_SPACES, "_made_spaces", "_new_spaces", "metadata", "render_mode", "reward_range", "spec")
)


def is_own(name: str) -> bool:
    """Returns whether a missing attribute is a proxy's own affair: no layer on the server is asked for it."""
    return _OWN_NAMES.match(name) is not None


def defines(proxy: object, name: str) -> bool:
    """Returns whether a proxy has the attribute itself, or is not made yet: to set it concerns no server."""
    own = vars(proxy)
    return name in own or hasattr(type(proxy), name) or is_own(name) or name in _DESCRIBED


def read_spaces(message: Any, env: str, family: Family, *names: str) -> list[Any]:
    """Reads the spaces in fields of a message.

    Args:
        message: The message.
        env: How the environment prints, for errors.
        family: Classes to build spaces of.
        names: Names of the fields.

    Raises:
        InvalidRequestError: A space is too large, or not in the family.
    """
    try:
        return [decode_space(getattr(message, name), family, name) for name in names]
    except CodecError as error:
        raise InvalidRequestError(f"a space of {env} cannot be built here: {error}") from error


class EnvAttributes(Generic[H]):
    """The attributes that a proxy, blocking or for asyncio, knows without a request."""

    _family: Family
    _handle: H
    _arguments: ProxyArguments
    _random: MirroredRandom
    # The base classes declare these as plain attributes; here they are copied from the remote environment.
    spec: Any
    metadata: dict[str, Any]
    render_mode: str | None
    reward_range: Any
    observation_space: Any
    action_space: Any

    _made_spaces: Sequence[Any]
    _new_spaces: NewSpaces
    #: The steps of `step_ahead` that are not over.
    _line: StepLine | None = None

    def _describe(self, made: environment_pb2.MakeResponse) -> None:
        """Sets the attributes from the answer to a Make."""
        family = self._family
        self._made_spaces = read_spaces(made, made.description, family, *_SPACES)
        self._new_spaces = NewSpaces()
        self.observation_space, self.action_space = self._made_spaces
        allowance = FillAllowance()
        self.metadata = decode_mapping(made.metadata, family, allowance=allowance)
        self.render_mode = made.render_mode if made.HasField("render_mode") else None
        self.reward_range = decode_value(made.reward_range, family, allowance=allowance)
        self.spec = None
        if made.HasField("spec"):
            entry_point = self._arguments.entry_point
            self.spec = decode_env_spec(made.spec, family, entry_point, allowance)
            self.spec.kwargs = self._arguments.spec_kwargs(self.spec.kwargs)
            # The server applies the wrappers. `make` would import them here, by names that the server sent.
            self.spec.additional_wrappers = ()

    def _follow(self, spaces: NewSpaces) -> None:
        """Replaces the spaces that a reset has changed; the others stay the same objects."""
        if spaces == self._new_spaces:
            return
        for index, name in enumerate(_SPACES):
            if spaces[index] is None:
                setattr(self, name, self._made_spaces[index])
            elif spaces[index] != self._new_spaces[index]:
                setattr(self, name, *read_spaces(spaces, str(self), self._family, name))
        self._new_spaces = spaces

    @property
    def connection_stats(self) -> ConnectionStats:
        """Counters of this environment's connections and sessions since it was first made."""
        return self._handle.stats

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Notices of the server, such as that it is about to stop and in how many seconds."""
        return self._handle.notices

    @property
    def recorded_as(self) -> str:
        """Name of the recording that the server keeps of the current session; empty if it keeps none."""
        driver = self._handle.driver
        return "" if driver is None else driver.session.recorded_as

    def _clone(self, handle: H) -> Self:
        """Returns a copy of this object for a copy of its environment, with its own spaces, metadata and generator."""
        clone = object.__new__(type(self))
        vars(clone).update(vars(self))
        memo: dict[int, Any] = {}
        for name in (*_SPACES, "_made_spaces", "metadata"):
            setattr(clone, name, copy.deepcopy(getattr(self, name), memo))
        clone._handle, clone._random, clone._line = handle, self._random.copy(), None
        return clone

    @property
    def _steps_apart(self) -> bool:
        """Whether each step needs its own request and answer."""
        return self._random.active or self._arguments.options.device is not None

    def _line_up(
        self, actions: Iterable[Any], step: Callable[[Any], Awaitable[StepResult]]
    ) -> Call:
        """Lines up the steps of a call of `step_ahead`.

        Args:
            actions: The actions.
            step: Takes a single step, for actions that cannot be sent ahead.
        """
        if self._line is None or self._line.done:
            self._line = StepLine(self._handle, step, apart=self._steps_apart)
        return self._line.add(actions)

    def _drop_steps(self) -> None:
        """Drops the steps of `step_ahead` that were not sent yet."""
        line, self._line = self._line, None
        if line is not None:
            line.stop()


class RemoteAttributes(EnvAttributes[SessionHandle]):
    """The part of a proxy that reads and sets attributes of its environment."""

    _used: bool

    @property
    def np_random(self) -> np.random.Generator:
        """The environment's generator, mirrored from the first read on (see `envwire.client._env.episodes`)."""
        known = self._random.generator
        return known or run(generator(self._handle, self._random, self._arguments.env_id))

    @np_random.setter
    def np_random(self, value: np.random.Generator) -> None:
        self._random.replace(value)

    @property
    def _np_random(self) -> np.random.Generator | None:
        # Gymnasium's checker reads the generator by this name, and expects None if there is none yet.
        if not self._random.active:
            self._random.absorb(self._handle.serve(GetRandom("_np_random")))
        return self._random.generator

    @property
    def np_random_seed(self) -> int | None:
        """The seed of the environment's generator; -1 if the generator was set directly."""
        if self._random.seed is None:
            return self._handle.serve(GetAttribute("np_random_seed"))[0]  # type: ignore[no-any-return]
        return self._random.seed

    def has_wrapper_attr(self, name: str) -> bool:
        """Returns whether this proxy or any layer on the server has the attribute."""
        return hasattr(type(self), name) or self._handle.serve(HasAttribute(name))

    def get_wrapper_attr(self, name: str) -> Any:
        """Returns an attribute of this proxy, else of the outermost layer on the server that has it.

        A method is returned as a function that calls it on the server, a value that cannot be sent as an `Opaque`.

        Raises:
            AttributeError: No layer has it.
        """
        if hasattr(type(self), name) or name in self.__dict__:
            return getattr(self, name)
        value, method = self._handle.serve(GetAttribute(name))
        return partial(self._call_method, name) if method else value

    def _call_method(self, name: str, /, *args: Any, **kwargs: Any) -> Any:
        self._used = True
        return run(call(self._handle, self._random, CallMethod(name, args, kwargs)))

    def set_wrapper_attr(self, name: str, value: Any, *, force: bool = True) -> bool:
        """Sets an attribute of the outermost layer on the server that has it; returns whether it was set."""
        self._used = True
        return run(call(self._handle, self._random, SetAttribute(name, value, force)))

    def __getattr__(self, name: str) -> Any:
        """Reads an attribute that the proxy does not have from the environment."""
        if is_own(name) or "_handle" not in vars(self) or self._handle.vacant:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        try:
            value: Any = self.get_wrapper_attr(name)
        except NotAllowedError as error:  # `hasattr` expects an AttributeError
            raise AttributeError(str(error), name=name, obj=self) from error
        if is_array(value):  # a copy: writes to it would be lost
            value.flags.writeable = False
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        """Sets an attribute that the proxy does not have on the outermost layer on the server that has it.

        What no layer has is set on the proxy, with a warning: the environment cannot see it there.
        """
        if "_handle" in vars(self) and not defines(self, name):
            if self.set_wrapper_attr(name, value, force=False):
                return
            warn_of_own(self, name)
        super().__setattr__(name, value)


def warn_of_own(proxy: object, name: str) -> None:
    """Warns that an attribute was set on a proxy and not on the server."""
    warnings.warn(
        f"{proxy} has no attribute {name!r} on the server, so it was set on this proxy only, where the environment "
        f"cannot see it. set_wrapper_attr({name!r}, ...) creates it there; a subclass that keeps it here declares it "
        "as a class attribute",
        stacklevel=3,
    )
