"""What the environments of a vector environment have beside episodes: frames, generators, attributes and methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from envwire.client._drivers.concurrently import at_once
from envwire.client._vector.async_calls import Halves
from envwire.client._vector.session import VectorSession
from envwire.client._vector.shards import Seat
from envwire.envs.type_guards import is_tuple_or_list

_T = TypeVar("_T")


class Members:
    """The environments; `VectorProxy` says what its methods of the same names do.

    Args:
        halves: Says which sessions they are in, when these are free to answer.
        native: Whether those of a session are one that steps as arrays: what they have, they have once.
    """

    def __init__(self, halves: Halves, native: bool) -> None:
        self._halves = halves
        self._native = native

    def render(self) -> Any:
        """Returns the frames."""
        return self._joined(self._each(VectorSession.render))

    def call(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Calls a method, or reads an attribute."""
        return self._joined(self._each(partial(_call, name, args, kwargs)))

    def set_attr(self, name: str, values: Any) -> None:
        """Sets an attribute.

        Raises:
            ValueError: There are not as many values as environments.
        """
        if self._native:
            self._each(lambda session: session.set_attribute(name, values, True))
            return
        bounds = self._halves.bounds
        count = bounds[-1][1]
        each = list(values) if is_tuple_or_list(values) else [values] * count
        if len(each) != count:
            raise ValueError(
                f"{len(each)} values of {name!r} for {count} environments; give one for each, or one for all"
            )
        own = [each[start:stop] for start, stop in bounds]
        pairs = list(zip(self._halves.idle(), own, strict=True))
        at_once(lambda pair: pair[0].serve(_setter(name, pair[1])), pairs)

    def call_on(
        self, indices: Sequence[int], name: str, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> list[Any]:
        """Calls a method, or reads an attribute, of some of them."""
        found: dict[int, Any] = {}
        for seat, members in self._chosen(indices):
            results = seat.serve(partial(_call, name, args, kwargs, members=members))
            own = [seat.share.start + member for member in members]
            found.update(zip(own, results, strict=True))
        return [found[index] for index in indices]

    def set_attr_on(self, indices: Sequence[int], name: str, value: Any) -> None:
        """Sets an attribute of some of them."""
        for seat, members in self._chosen(indices):
            seat.serve(_setter(name, [value] * len(members), members))

    def _chosen(self, indices: Sequence[int]) -> list[tuple[Seat, list[int]]]:
        """Returns the seats that have some of these, and which of their own they are."""
        chosen: list[tuple[Seat, list[int]]] = []
        for seat in self._halves.idle():
            start, stop = seat.share.start, seat.share.stop
            members = [index - start for index in range(start, stop) if index in indices]
            if members:
                chosen.append((seat, members))
        return chosen

    def _each(self, request: Callable[[VectorSession], _T]) -> list[_T]:
        """Serves a request in every session, at the same time."""
        return at_once(lambda seat: seat.serve(request), self._halves.idle())

    def generators(self) -> Any:
        """Returns copies of the generators."""
        generators = [each for one in self._each(VectorSession.get_generators) for each in one]
        return generators[0] if self._native and len(generators) == 1 else tuple(generators)

    def _joined(self, results: Sequence[Any]) -> Any:
        """Joins what sessions returned: one for each environment, or, where it is native, for each session."""
        if self._native:
            return results[0] if len(results) == 1 else tuple(results)
        return tuple(one for result in results for one in result)


def _setter(name: str, values: Any, members: Sequence[int] = ()) -> Callable[[VectorSession], bool]:
    return lambda session: session.set_attribute(name, values, True, members)


def _call(
    name: str,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    session: VectorSession,
    members: Sequence[int] = (),
) -> Any:
    value, method = session.get_attribute(name, members)
    return session.call_method(name, args, kwargs, members) if method else value
