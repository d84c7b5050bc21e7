"""The devices whose memory can be shared: their names, and what identifies them in all processes of a machine."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from envwire.v1 import direct_pb2

HOST: Final = direct_pb2.DEVICE_KIND_HOST
CUDA: Final = direct_pb2.DEVICE_KIND_CUDA

DLPACK_CPU: Final = 1
"""DLPack's number for the processor."""
DLPACK_CUDA: Final = 2
"""DLPack's number for a GPU with CUDA."""

_NAMES: Final = re.compile(r"host|cuda(:(\d{1,3}))?")


class DeviceError(OSError):
    """Memory of a device cannot be shared: it is short, the device is missing, or its driver reports an error."""


class Identity(NamedTuple):
    """A device, by what names it in all processes of a machine.

    Attributes:
        kind: A value of `DeviceKind`.
        uuid: The UUID of a GPU, 16 bytes; empty for the host.
    """

    kind: int
    uuid: bytes = b""


def check_device_name(name: str) -> int | None:
    """Returns the number in the name of a GPU, 0 if it has none; None for the host.

    Raises:
        ValueError: It is no name of a device.
    """
    match = _NAMES.fullmatch(name) if isinstance(name, str) else None  # pyright: ignore[reportUnnecessaryIsInstance]
    if match is None:
        raise ValueError(f"device={name!r} is no device; choose 'host', 'cuda' or 'cuda:N'")
    return None if name == "host" else int(match[2] or 0)
