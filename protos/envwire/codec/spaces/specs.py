"""Encodes and decodes specs, which say how an environment and its wrappers were made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from envwire.codec.errors.faults import CodecError
from envwire.codec.family import Family
from envwire.codec.values.encoding import decode_mapping, decode_value, encode_mapping, encode_value
from envwire.codec.values.tensors import FillAllowance
from envwire.v1 import specs_pb2

#: The fields that are true or false.
_FLAGS = ("nondeterministic", "order_enforce", "disable_env_checker")


def encode_env_spec(spec: Any, message: specs_pb2.EnvSpec) -> None:
    """Writes the specification of an environment of either family.

    Args:
        spec: The specification. Arguments without a wire form are sent as `Opaque`.
        message: Filled in place.

    Raises:
        CodecError: A field does not have the type that `EnvSpec` declares.
    """
    try:
        message.id = spec.id
        message.entry_point = _location(spec.entry_point)
        for name in _FLAGS:
            setattr(message, name, bool(getattr(spec, name)))
        message.vector_entry_point = _location(spec.vector_entry_point)
        if spec.max_episode_steps is not None:
            message.max_episode_steps = spec.max_episode_steps
        if spec.reward_threshold is not None:
            encode_value(spec.reward_threshold, message.reward_threshold, opaque=True)
    except (TypeError, ValueError) as error:  # protobuf checks types and ranges
        raise CodecError(
            f"not a proper specification ({error})", "fields of the types of EnvSpec"
        ).under("spec") from error
    encode_mapping(spec.kwargs, message.kwargs, "spec.kwargs", opaque=True)
    for wrapper in spec.additional_wrappers:
        _encode_wrapper_spec(wrapper, message.additional_wrappers.add())


def decode_env_spec(
    message: specs_pb2.EnvSpec,
    family: Family,
    entry_point: str | Callable[..., Any],
    allowance: FillAllowance | None = None,
) -> Any:
    """Builds the specification of an environment.

    Args:
        message: The message.
        family: Library of the `EnvSpec` to build.
        entry_point: A function that makes the environment here, or its location. It replaces the name that was sent,
            because no name from a peer is imported. For the same reason `vector_entry_point` is left out:
            `make_vec` would import it.
        allowance: The allowance of a message with more than a specification; by default one for the specification.

    Raises:
        CodecError: The family refuses the id, or an argument breaks the contract.
    """
    allowance = allowance or FillAllowance()
    try:
        return family.EnvSpec(
            id=message.id,
            entry_point=entry_point,
            reward_threshold=_decode_threshold(message, family, allowance),
            max_episode_steps=_decode_max_episode_steps(message),
            **{name: getattr(message, name) for name in _FLAGS},
            kwargs=decode_mapping(message.kwargs, family, "spec.kwargs", allowance=allowance),
            additional_wrappers=tuple(
                _decode_wrapper_spec(wrapper, family, allowance)
                for wrapper in message.additional_wrappers
            ),
        )
    except family.error.Error as error:
        raise CodecError(f"an id {message.id!r} ({error})", "[namespace/]name[-vN]").under(
            "spec.id"
        ) from error


def _encode_wrapper_spec(spec: Any, message: specs_pb2.WrapperSpec) -> None:
    message.name = spec.name
    message.entry_point = _location(spec.entry_point)
    message.recorded = spec.kwargs is not None
    if spec.kwargs is not None:
        encode_mapping(spec.kwargs, message.kwargs, opaque=True)


def _decode_wrapper_spec(
    message: specs_pb2.WrapperSpec, family: Family, allowance: FillAllowance
) -> Any:
    kwargs = None
    if message.recorded:
        path = f"spec.{message.name}.kwargs"
        kwargs = decode_mapping(message.kwargs, family, path, allowance=allowance)
    return family.WrapperSpec(name=message.name, entry_point=message.entry_point, kwargs=kwargs)


def _decode_threshold(message: specs_pb2.EnvSpec, family: Family, allowance: FillAllowance) -> Any:
    if not message.HasField("reward_threshold"):
        return None
    path = "spec.reward_threshold"
    return decode_value(message.reward_threshold, family, path, allowance=allowance)


def _decode_max_episode_steps(message: specs_pb2.EnvSpec) -> int | None:
    return message.max_episode_steps if message.HasField("max_episode_steps") else None


def _location(entry_point: str | Callable[..., Any] | None) -> str:
    """Returns the location of an entry point, "module:Class"; "" if there is none."""
    if entry_point is None or isinstance(entry_point, str):
        return entry_point or ""
    kind = type(entry_point)
    named = entry_point if hasattr(entry_point, "__qualname__") else kind
    return f"{named.__module__}:{named.__qualname__}"
