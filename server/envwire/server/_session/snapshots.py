"""Saved states of an environment, which its client can restore.

An environment supports this by two methods, one that returns its state and one that restores it (see `PROTOCOLS`). A
snapshot also holds a copy of the attributes of all wrappers around the layer with these methods, and the state of the
random number generator. States never leave the server: the client gets a number, and cannot supply a state of its own.
"""

from __future__ import annotations

import copy
import gc
import inspect
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, cast

import numpy as np

from envwire.codec import FaultError, Reason, fault_from_exception
from envwire.server._hosting.np_random import generator_state, restore_generator

#: Pairs of method names, in the order in which they are tried; outer layers come first.
PROTOCOLS = (
    ("save_state", "restore_state"),
    ("clone_state", "restore_state"),
    ("get_state", "set_state"),
)
#: Keyword arguments of `clone_state`; without the generator's state the environment would continue differently.
_KEYWORDS = {"include_rng": True}
#: Limits per session, in states and bytes; beyond them the oldest state is dropped.
MAX_STATES, MAX_BYTES = 1000, 256 * 1024 * 1024


@dataclass(frozen=True)
class Native:
    """The parts from which the state of a wrapped environment is saved.

    Attributes:
        wrappers: The layers around the one that has the methods.
        save: Returns that layer's state.
        restore: Restores it.
        unwrapped: The innermost environment, whose generator is part of the state.
    """

    wrappers: tuple[Any, ...]
    save: Callable[[], Any]
    restore: Callable[[Any], Any]
    unwrapped: Any


@dataclass(frozen=True)
class _Snapshot:
    native: Any
    wrappers: tuple[dict[str, Any], ...]
    random: Any
    size: int


def find_native(env: Any) -> Native | None:
    """Finds the layer of `env` that can save its state; None if there is none."""
    wrappers: list[Any] = []
    for layer in _layers(env):
        for names in PROTOCOLS:
            if methods := _methods(layer, *names):
                return Native(tuple(wrappers), *methods, env.unwrapped)
        wrappers.append(layer)
    return None


def _layers(env: Any) -> Iterator[Any]:
    while env is not None:
        yield env
        env = getattr(env, "__dict__", {}).get("env")


def _methods(
    layer: Any, save_name: str, restore_name: str
) -> tuple[Callable[[], Any], Callable[[Any], Any]] | None:
    """Returns both methods if the layer itself has them, with matching signatures: no argument, and a state."""
    kind: Any = layer.__class__
    if not (hasattr(kind, save_name) and hasattr(kind, restore_name)):
        return None
    save, restore = getattr(layer, save_name), getattr(layer, restore_name)
    try:
        names = inspect.signature(save).parameters
        inspect.signature(save).bind()
        inspect.signature(restore).bind(None)
    except (TypeError, ValueError):  # other methods of that name, or builtins without a signature
        return None
    keywords = {name: value for name, value in _KEYWORDS.items() if name in names}
    return (lambda: save(**keywords)), restore


class Snapshots:
    """The states that one session keeps.

    Args:
        env: The environment, in its wrappers.
        max_bytes: Most bytes that they take; the last one is kept, however large it is.
    """

    def __init__(self, env: Any, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self.native = find_native(env)
        self._kept: OrderedDict[int, _Snapshot] = OrderedDict()
        self._last = 0
        self._bytes = 0

    def save(self) -> int:
        """Saves the current state and returns its number.

        Raises:
            FaultError: UNSUPPORTED, or the environment raised.
        """
        native = self._offered()
        try:
            state = native.save()
            wrappers = tuple(_held(layer, native) for layer in native.wrappers)
            random = generator_state(native.unwrapped)
        except Exception as error:
            raise fault_from_exception(error, Reason.ENVIRONMENT_RAISED) from error
        saved = state, wrappers, random
        shared = (part for layer in native.wrappers for part in _shared(layer, native).values())
        self._last += 1
        self._keep(self._last, _Snapshot(*saved, size_of(saved, (native.unwrapped, *shared))))
        return self._last

    def restore(self, number: int) -> None:
        """Restores a saved state.

        Raises:
            FaultError: UNSUPPORTED; INVALID_VALUE: the state is not kept; or the environment raised.
        """
        native = self._offered()
        snapshot = self._kept.get(number)
        if snapshot is None:
            raise FaultError(
                Reason.INVALID_VALUE,
                f"state {number} is not kept here: a session keeps its last {MAX_STATES} states, as long as they take "
                f"no more than {self._max_bytes >> 20} MiB. Restore it sooner, or save it again",
            )
        try:
            native.restore(snapshot.native)
            for layer, held in zip(native.wrappers, snapshot.wrappers, strict=True):
                _give_back(layer, held, native)
            restore_generator(native.unwrapped, snapshot.random)
        except Exception as error:
            raise fault_from_exception(error, Reason.ENVIRONMENT_RAISED) from error

    def _keep(self, number: int, snapshot: _Snapshot) -> None:
        self._kept[number] = snapshot
        self._bytes += snapshot.size
        while len(self._kept) > MAX_STATES or (
            self._bytes > self._max_bytes and len(self._kept) > 1
        ):
            _, oldest = self._kept.popitem(last=False)
            self._bytes -= oldest.size

    def _offered(self) -> Native:
        if self.native is None:
            pairs = ", ".join(f"{save}() and {restore}(state)" for save, restore in PROTOCOLS)
            raise FaultError(
                Reason.UNSUPPORTED,
                f"the environment does not offer its state: none of its layers has {pairs}. With "
                'on_lost="replay" the client can return to earlier states by itself',
            )
        return self.native


def _shared(layer: Any, native: Native) -> dict[int, Any]:
    """Returns the objects that a copy of a layer's attributes shares with it: the other layers and the spaces."""
    spaces = filter(_is_space, layer.__dict__.values())
    values: list[Any] = [*native.wrappers, native.unwrapped, *spaces]
    return {id(value): value for value in values}


def _is_space(value: Any) -> bool:
    return hasattr(value, "sample") and hasattr(value, "contains")


def _held(layer: Any, native: Native) -> dict[str, Any]:
    memo = _shared(layer, native)
    held = {name: value for name, value in layer.__dict__.items() if name != "env"}
    return copy.deepcopy(held, memo)


def _give_back(layer: Any, held: dict[str, Any], native: Native) -> None:
    attributes = layer.__dict__
    for name in attributes.keys() - held.keys() - {"env"}:
        del attributes[name]
    attributes.update(copy.deepcopy(held, _shared(layer, native)))


#: Types whose instances belong to the program and refer to all of it.
_OF_THE_PROGRAM = (type, ModuleType, FunctionType, BuiltinFunctionType)


def size_of(value: Any, shared: Iterable[Any] = ()) -> int:
    """Returns the approximate size of a value in bytes.

    Args:
        value: The value. An object that several of its parts refer to counts once.
        shared: Objects to leave out, together with everything that only they refer to.
    """
    seen = set(map(id, shared))
    left, size = [value], 0
    while left:
        part = left.pop()
        if id(part) in seen or isinstance(part, _OF_THE_PROGRAM):
            continue
        seen.add(id(part))
        size += sys.getsizeof(part)
        left += _held_by(part)
    return size


def _held_by(part: Any) -> list[Any]:
    if isinstance(part, np.ndarray):  # the garbage collector does not see the contents of arrays
        array = cast("np.ndarray[Any, np.dtype[Any]]", part)
        elements: list[Any] = array.ravel().tolist() if array.dtype.hasobject else []
        return elements if array.base is None else [*elements, array.base]
    return gc.get_referents(part)
