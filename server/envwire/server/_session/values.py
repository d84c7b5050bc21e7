"""Encodes values of answers; errors become faults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from envwire.codec import CodecError, FaultError, Reason, encode_mapping, encode_value
from envwire.v1 import values_pb2
from envwire.wire.frames import Attachments


def write(
    value: Any, message: values_pb2.Value, name: str, attachments: Attachments | None
) -> None:
    """Encodes an environment's observation or frame.

    Raises:
        FaultError: UNSUPPORTED: the value has no wire form.
    """
    try:
        encode_value(value, message, name, attachments=attachments)
    except CodecError as error:
        raise FaultError(Reason.UNSUPPORTED, str(error)) from error


def write_info(info: Any, message: values_pb2.ValueMap, attachments: Attachments | None) -> None:
    """Encodes an info; values without a wire form are replaced by a description.

    Raises:
        FaultError: ENVIRONMENT_RAISED: the info is not a dict.
    """
    check_info(info)
    message.SetInParent()
    mapping = cast("dict[Any, Any]", info)
    encode_mapping(mapping, message, "info", opaque=True, attachments=attachments)


def check_info(info: Any) -> None:
    """Checks that an environment returned a dictionary as info.

    Raises:
        FaultError: ENVIRONMENT_RAISED: the info is not a dict.
    """
    if not isinstance(info, Mapping):
        raise FaultError(
            Reason.ENVIRONMENT_RAISED,
            f"the environment returned an info of type {type(info).__name__}; it must be a dict",
        )
