"""Attributes of a remote environment: its generator, and those of its layers on the server."""

from __future__ import annotations

from functools import partial
from typing import Any, cast

import numpy as np

from envwire.client._env.env_info import EnvInfo
from envwire.client._env.episodes import generator
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


class RemoteAttributes(EnvInfo):
    """The part of a proxy that reads and sets attributes of its environment."""

    _env_id: str
    _handle: SessionHandle
    _random: MirroredRandom
    _used: bool

    @property
    def np_random(self) -> np.random.Generator:
        """The environment's generator, mirrored from the first read on."""
        known = self._random.generator
        return known or self._handle.run(generator(self._random, self._env_id))

    @np_random.setter
    def np_random(self, value: np.random.Generator) -> None:
        self._random.replace(value)

    @property
    def _np_random(self) -> np.random.Generator | None:
        # Gymnasium's checker reads the generator by this name; it may be None.
        if not self._random.active:
            self._random.absorb(self._handle.serve(GetRandom("_np_random")))
        return self._random.generator

    @property
    def np_random_seed(self) -> int | None:
        """The seed of the environment's generator; -1 when the generator was set directly."""
        if self._random.seed is None:
            return self._handle.serve(GetAttribute("np_random_seed"))[0]  # type: ignore[no-any-return]
        return self._random.seed

    def has_wrapper_attr(self, name: str) -> bool:
        """Returns whether this proxy or any layer on the server has the attribute."""
        return hasattr(type(self), name) or self._handle.serve(HasAttribute(name))

    def get_wrapper_attr(self, name: str) -> Any:
        """Returns an attribute of this proxy, else of the outermost layer on the server that has it.

        A method is returned as a callable that calls it on the server, a value without a wire form as an `Opaque`.

        Raises:
            AttributeError: No layer has it.
        """
        if hasattr(type(self), name) or name in self.__dict__:
            return getattr(self, name)
        value, method = self._handle.serve(GetAttribute(name))
        return partial(self._call_method, name) if method else value

    def _call_method(self, name: str, /, *args: Any, **kwargs: Any) -> Any:
        self._used = True
        return self._handle.serve(CallMethod(name, args, kwargs))

    def set_wrapper_attr(self, name: str, value: Any, *, force: bool = True) -> bool:
        """Sets an attribute of the outermost layer on the server that has it; returns whether it was set."""
        self._used = True
        return self._handle.serve(SetAttribute(name, value, force))

    def __getattr__(self, name: str) -> Any:
        """Reads an attribute of the environment that the proxy does not have; private names are not requested."""
        if name.startswith("_") or self._handle.vacant:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        try:
            value: Any = self.get_wrapper_attr(name)
        except NotAllowedError as error:  # so that `hasattr` works
            raise AttributeError(str(error), name=name, obj=self) from error
        return _read_only(value)


def _read_only(value: Any) -> Any:
    """Marks an array that was read from the environment as read-only: it is a copy, and writes would be lost."""
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
        return cast("object", value)
    return value
