"""Access to the members of a vector environment: frames, generators, attributes and methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from envwire.client._drivers.concurrently import at_once
from envwire.client._session.attribute_operations import (
    CallMethod,
    GetAttribute,
    GetGenerators,
    SetAttribute,
)
from envwire.client._session.operations import Render
from envwire.client._vector.async_calls import AsyncCalls
from envwire.client._vector.batching.batches import Bounds
from envwire.client._vector.shards import Shard
from envwire.envs.type_guards import is_tuple_or_list

_T = TypeVar("_T")


class Members:
    """The environments; `VectorProxy` says what its methods of the same names do.

    Args:
        calls: Says which sessions they are in, when these are free to answer.
        native: Whether those of a session are one that steps as arrays: what they have, they have once.
    """

    def __init__(self, calls: AsyncCalls, native: bool) -> None:
        self._calls = calls
        self._native = native

    def render(self) -> Any:
        """Returns the frames."""
        return self._joined(self._each(_render))

    def call(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Calls a method, or reads an attribute."""
        return self._joined(self._each(partial(_call, name, args, kwargs)))

    def set_attr(self, name: str, values: Any) -> None:
        """Sets an attribute.

        Raises:
            ValueError: There are not as many values as environments.
        """
        if self._native:
            self._each(lambda shard: shard.handle.serve(SetAttribute(name, values)))
            return
        own = cut_values(name, values, self._calls.bounds)
        pairs = list(zip(self._calls.idle(), own, strict=True))
        at_once(lambda pair: pair[0].handle.serve(SetAttribute(name, pair[1])), pairs)

    def call_on(
        self, indices: Sequence[int], name: str, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> list[Any]:
        """Calls a method, or reads an attribute, of some of them."""
        found: dict[int, Any] = {}
        for shard, members in self._chosen(indices):
            results = _call(name, args, kwargs, shard, members)
            own = [shard.spec.start + member for member in members]
            found.update(zip(own, results, strict=True))
        return [found[index] for index in indices]

    def set_attr_on(self, indices: Sequence[int], name: str, value: Any) -> None:
        """Sets an attribute of some of them."""
        for shard, members in self._chosen(indices):
            shard.handle.serve(SetAttribute(name, [value] * len(members), True, members))

    def _chosen(self, indices: Sequence[int]) -> list[tuple[Shard, list[int]]]:
        """Returns the shards that have some of these, and which of their own they are."""
        chosen: list[tuple[Shard, list[int]]] = []
        for shard in self._calls.idle():
            start, stop = shard.spec.start, shard.spec.stop
            members = [index - start for index in range(start, stop) if index in indices]
            if members:
                chosen.append((shard, members))
        return chosen

    def _each(self, request: Callable[[Shard], _T]) -> list[_T]:
        """Serves a request in every session, at the same time."""
        return at_once(request, self._calls.idle())

    def generators(self) -> Any:
        """Returns copies of the generators."""
        generators = [each for one in self._each(_generators) for each in one]
        return generators[0] if self._native and len(generators) == 1 else tuple(generators)

    def _joined(self, results: Sequence[Any]) -> Any:
        return joined(results, self._native)


def cut_values(name: str, values: Any, bounds: Bounds) -> list[list[Any]]:
    """Returns the values of an attribute for each shard.

    Raises:
        ValueError: There are not as many values as environments.
    """
    count = bounds[-1][1]
    each: list[Any] = list(values) if is_tuple_or_list(values) else [values] * count
    if len(each) != count:
        raise ValueError(
            f"{len(each)} values of {name!r} for {count} environments; give one for each, or one for all"
        )
    return [each[start:stop] for start, stop in bounds]


def joined(results: Sequence[Any], native: bool) -> Any:
    """Joins what sessions returned: one for each environment, or, where it is native, for each session."""
    if native:
        return results[0] if len(results) == 1 else tuple(results)
    return tuple(one for result in results for one in result)


def _render(shard: Shard) -> Any:
    return shard.handle.serve(Render())


def _generators(shard: Shard) -> list[Any]:
    return shard.handle.serve(GetGenerators())


def _call(
    name: str,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    shard: Shard,
    members: Sequence[int] = (),
) -> Any:
    value, method = shard.handle.serve(GetAttribute(name, members))
    return shard.handle.serve(CallMethod(name, args, kwargs, members)) if method else value
