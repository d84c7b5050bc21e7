"""Attributes of a remote environment that are read from the server: its generator, and those of its wrappers."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from envwire.client._env.env_info import EnvAttributes
from envwire.client._env.episodes import call, generator
from envwire.client._env.np_random import MirroredRandom
from envwire.client._recovery.session_handle import SessionHandle
from envwire.client._session.attribute_operations import (
    CallMethod,
    GetAttribute,
    GetRandom,
    HasAttribute,
    SetAttribute,
)
from envwire.client.errors import NotAllowedError
from envwire.envs.type_guards import is_array


class RemoteAttributes(EnvAttributes[SessionHandle]):
    """The part of a proxy that reads and sets attributes of its environment."""

    _env_id: str
    _random: MirroredRandom
    _used: bool

    @property
    def np_random(self) -> np.random.Generator:
        """The environment's generator, mirrored from the first read on (see `envwire.client._env.np_random`)."""
        known = self._random.generator
        return known or self._handle.run(generator(self._random, self._env_id))

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
        return self._handle.run(call(self._random, CallMethod(name, args, kwargs)))

    def set_wrapper_attr(self, name: str, value: Any, *, force: bool = True) -> bool:
        """Sets an attribute of the outermost layer on the server that has it; returns whether it was set."""
        self._used = True
        return self._handle.run(call(self._random, SetAttribute(name, value, force)))

    def __getattr__(self, name: str) -> Any:
        """Reads an attribute that the proxy does not have from the environment, unless its name is private."""
        if name.startswith("_") or self._handle.vacant:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        try:
            value: Any = self.get_wrapper_attr(name)
        except NotAllowedError as error:  # `hasattr` expects an AttributeError
            raise AttributeError(str(error), name=name, obj=self) from error
        if is_array(value):  # a copy: writes to it would be lost
            value.flags.writeable = False
        return value
