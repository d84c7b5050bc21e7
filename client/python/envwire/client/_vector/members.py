"""Access to a vector environment's members: frames, generators, attributes and methods of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from envwire.client._drivers.coroutines import at_once, run
from envwire.client._recovery.session_handle import BaseSessionHandle
from envwire.client._session.attribute_operations import (
    CallMethod,
    GetAttribute,
    GetGenerators,
    SetAttribute,
)
from envwire.client._session.operations import Render
from envwire.client._vector.async_calls import AsyncCalls
from envwire.client._vector.batches import Bounds
from envwire.client._vector.shards import Shard
from envwire.envs.type_guards import is_tuple_or_list

_T = TypeVar("_T")


class Members(AsyncCalls):
    """The part of a vector proxy that gives access to its environments."""

    #: Whether each session holds a native vector environment, whose attributes exist once, not once per environment.
    _native: bool
    _observation_mode: str

    def render(self) -> Any:
        """Returns a tuple with a frame of each environment."""
        return joined(self._each(lambda shard: shard.handle.serve(Render())), self._native)

    def call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Calls a method of each environment, or reads an attribute; returns a tuple with one result for each."""
        results = self._each(lambda shard: run(call_each(shard.handle, name, args, kwargs)))
        return joined(results, self._native)

    def get_attr(self, name: str) -> Any:
        """Returns a tuple with an attribute of each environment; if it is a method, with the results of calling it."""
        return self.call(name)

    def set_attr(self, name: str, values: Any) -> None:
        """Sets an attribute of each environment: to its element of a list or tuple, or to one value for all.

        Raises:
            ValueError: The number of values is not the number of environments.
        """
        shards = self._idle()
        own = [values] * len(shards) if self._native else cut_values(name, values, self._bounds)
        pairs = list(zip(shards, own, strict=True))
        at_once(lambda pair: pair[0].handle.serve(SetAttribute(name, pair[1])), pairs)

    def call_on(self, indices: Sequence[int], name: str, *args: Any, **kwargs: Any) -> list[Any]:
        """Like `call`, for some of the environments; returns their results in the order of `indices`."""
        found: dict[int, Any] = {}
        for shard, members in self._chosen(indices):
            results = run(call_each(shard.handle, name, args, kwargs, members))
            own = [shard.spec.start + member for member in members]
            found.update(zip(own, results, strict=True))
        return [found[index] for index in indices]

    def set_attr_on(self, indices: Sequence[int], name: str, value: Any) -> None:
        """Sets an attribute of some of the environments to one value."""
        for shard, members in self._chosen(indices):
            shard.handle.serve(SetAttribute(name, [value] * len(members), True, members))

    @property
    def np_random(self) -> Any:
        """Copies of the environments' generators, as a tuple; a native vector environment has one.

        Drawing from a copy does not affect the environment.
        """
        found = self._each(lambda shard: shard.handle.serve(GetGenerators("np_random")))
        generators = [each for one in found for each in one]
        return generators[0] if self._native and len(generators) == 1 else tuple(generators)

    @property
    def np_random_seed(self) -> Any:
        """The seeds of the environments' generators, a tuple; a native vector environment has one."""
        return self.call("np_random_seed")

    @property
    def autoreset_mode(self) -> Any:
        """When an environment whose episode ended is reset: a member of `AutoresetMode`."""
        return self.metadata["autoreset_mode"]

    @property
    def observation_mode(self) -> str:
        """How the observation spaces are related: "same", or "different" if only their shapes and types are equal."""
        return self._observation_mode

    def _chosen(self, indices: Sequence[int]) -> list[tuple[Shard, list[int]]]:
        """Returns the shards of some environments, and the indices of these environments in each shard."""
        chosen: list[tuple[Shard, list[int]]] = []
        for shard in self._idle():
            start, stop = shard.spec.start, shard.spec.stop
            members = [index - start for index in range(start, stop) if index in indices]
            if members:
                chosen.append((shard, members))
        return chosen

    def _each(self, request: Callable[[Shard], _T]) -> list[_T]:
        """Sends a request to each session at the same time."""
        return at_once(request, self._idle())


def cut_values(name: str, values: Any, bounds: Bounds) -> list[list[Any]]:
    """Returns the values of an attribute for each shard.

    Raises:
        ValueError: The number of values is not the number of environments.
    """
    count = bounds[-1][1]
    each: list[Any] = list(values) if is_tuple_or_list(values) else [values] * count
    if len(each) != count:
        raise ValueError(
            f"{len(each)} values of {name!r} for {count} environments; give one for each, or one for all"
        )
    return [each[start:stop] for start, stop in bounds]


def joined(results: Sequence[Any], native: bool) -> Any:
    """Joins the results of sessions: one per environment, or one per session for native vector environments."""
    if native:
        return results[0] if len(results) == 1 else tuple(results)
    return tuple(one for result in results for one in result)


async def call_each(
    handle: BaseSessionHandle[Any],
    name: str,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    members: Sequence[int] = (),
) -> Any:
    """Calls a method of environments of a session, or reads an attribute; by default of all of them."""
    value, method = await handle.ask(GetAttribute(name, members), recover=True)
    if method:
        value = await handle.ask(CallMethod(name, args, kwargs, members), recover=True)
    return value
