"""Builds requests: the Make, from a proxy's arguments, and the one that renews a lease."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from envwire.client.errors import InvalidRequestError
from envwire.codec import CodecError, Family, encode_mapping
from envwire.codec.messages import to_duration
from envwire.v1 import environment_pb2 as pb

#: A wrapper to apply on the server: its name, "TimeLimit" or "module:Class", or (name, keyword arguments).
WrapperLike: TypeAlias = str | tuple[str, Mapping[str, Any]]

_OBSERVATION_MODES = "same", "different"

#: A request without a sequence number, which drivers send between the numbered ones.
RENEW_LEASE = pb.InteractRequest(renew_lease=pb.RenewLeaseRequest()).SerializeToString()
#: One that has no effect but to tie the session to the stream on which it is sent.
GET_STATS = pb.InteractRequest(get_session_stats=pb.GetSessionStatsRequest()).SerializeToString()


def make_request(
    env_id: str,
    render_mode: str | None,
    wrappers: Iterable[WrapperLike],
    library: str | None,
    family: Family,
    lease: float | None,
    kwargs: Mapping[str, Any],
) -> pb.MakeRequest:
    """Returns the request for an environment.

    Raises:
        TypeError: The id, the render mode or the library is not a string.
        InvalidRequestError: A keyword argument cannot be encoded, or a wrapper is not given by name.
    """
    if not isinstance(env_id, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"the environment's id {env_id!r} is not a string, such as 'CartPole-v1'")
    for name, value in {"render_mode": render_mode, "library": library}.items():
        if not isinstance(value, str | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"{name}={value!r} is not a string")
    request = pb.MakeRequest(env_id=env_id, render_mode=render_mode)
    request.library = library or ""
    request.prefer = "" if library else family.name
    if lease is not None:
        request.lease.CopyFrom(to_duration(lease))
    try:
        encode_mapping(kwargs, request.kwargs, "kwargs")
        for wrapper in listed(wrappers):
            name, wrapper_kwargs = name_and_kwargs(wrapper)
            encode_mapping(wrapper_kwargs, request.wrappers.add(name=name).kwargs, name)
    except CodecError as error:
        raise InvalidRequestError(str(error)) from error
    return request


def listed(wrappers: Iterable[WrapperLike]) -> tuple[WrapperLike, ...]:
    """Returns the wrappers of an environment as a tuple.

    Raises:
        InvalidRequestError: They are given as one string, each letter of which would be taken for a wrapper.
    """
    if isinstance(wrappers, str):
        raise InvalidRequestError(f"wrappers={wrappers!r} is a string; pass a list, [{wrappers!r}]")
    return tuple(wrappers)


def merged(env_kwargs: Mapping[str, Any] | None, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the keyword arguments of an environment, given as a mapping and as further ones.

    Raises:
        TypeError: `env_kwargs` is not a mapping.
    """
    if not isinstance(env_kwargs, Mapping | None):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"env_kwargs={env_kwargs!r} is not a mapping of names to values")
    return {**(env_kwargs or {}), **kwargs}


def name_and_kwargs(wrapper: WrapperLike) -> tuple[str, Mapping[str, Any]]:
    """Returns the name of a wrapper and its keyword arguments.

    Raises:
        InvalidRequestError: It is neither a name nor (name, keyword arguments).
    """
    if isinstance(wrapper, str):
        return wrapper, {}
    match wrapper:
        case (str() as name, Mapping() as kwargs):
            return name, kwargs
        case _:
            raise InvalidRequestError(
                f"{wrapper!r} names no wrapper on the server; pass its name, 'TimeLimit', or its name and keyword "
                "arguments, ('TimeLimit', {'max_episode_steps': 100}). Wrappers as classes go around the proxy itself"
            )


@dataclass(frozen=True)
class Differences:
    """How the environments of a vector environment differ.

    Attributes:
        member_kwargs: Further keyword arguments of each environment; None if all are equal.
        observation_mode: "same", or "different" if only kinds, shapes and types of their observation spaces are equal.
    """

    member_kwargs: Sequence[Mapping[str, Any]] | None = None
    observation_mode: str = "same"

    def write(self, request: pb.VectorRequest, num_envs: int) -> None:
        """Writes them into a request.

        Raises:
            ValueError: There is no such mode, or there are other keyword arguments than one mapping for each.
            InvalidRequestError: A keyword argument cannot be encoded.
        """
        if self.observation_mode not in _OBSERVATION_MODES:
            raise ValueError(
                f"observation_mode={self.observation_mode!r} is not one of {', '.join(_OBSERVATION_MODES)}"
            )
        request.observation_mode = self.observation_mode
        if self.member_kwargs is None:
            return
        if len(self.member_kwargs) != num_envs:
            raise ValueError(
                f"member_kwargs= has {len(self.member_kwargs)} elements for num_envs={num_envs}; give one for each"
            )
        for index, kwargs in enumerate(self.member_kwargs):
            path = f"member_kwargs[{index}]"
            if not isinstance(kwargs, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise TypeError(f"{path}={kwargs!r} is not a mapping of names to values")
            try:
                encode_mapping(kwargs, request.member_kwargs.add(), path)
            except CodecError as error:
                raise InvalidRequestError(str(error)) from error


def set_vector(
    request: pb.MakeRequest, vectorization_mode: Any, autoreset_mode: Any, family: Family
) -> None:
    """Turns a request into one for a vector environment; the number of environments is set later.

    Args:
        request: The request.
        vectorization_mode: A member of `VectorizeMode` or its value; None for the server's default.
        autoreset_mode: A member of `AutoresetMode`, its name or its value; None for the server's default.
        family: The proxy's library.

    Raises:
        ValueError: There is no such mode.
    """
    mode = getattr(vectorization_mode, "value", vectorization_mode) or ""
    if not isinstance(mode, str):
        raise ValueError(
            f"Invalid vectorization mode: {mode!r}, valid modes: ['sync', 'vector_entry_point']"
        )
    request.vector.vectorization_mode = mode
    name, modes = getattr(autoreset_mode, "name", autoreset_mode), family.AutoresetMode
    if name is not None and modes is not None and name not in modes.__members__:
        name = modes(autoreset_mode).name
    request.vector.autoreset_mode = "" if name is None else str(name)
