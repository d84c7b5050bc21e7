"""The interface through which values are written into, and read from, memory that is shared on a device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from envwire.v1 import values_pb2


class DeviceArrays(Protocol):
    """The arrays at one end of a channel that shares memory of a device; `SharedArrays` has them."""

    def begin(self) -> None:
        """Begins a message: the arrays of the last one are overwritten."""

    def put(self, value: object, tensor: values_pb2.Tensor) -> bool:
        """Writes an array of a library into the memory; returns False if it has to go into the message."""
        ...

    def take(self, tensor: values_pb2.Tensor) -> Any:
        """Returns the array of a tensor that is in the memory."""
        ...

    def repeat_puts(self, values: Sequence[Any]) -> Callable[[Sequence[Any]], bool] | None:
        """Returns what puts arrays of the same forms at the same places again; None if that is not all of a message."""
        ...

    def repeat_takes(self, values: Sequence[Any]) -> Callable[[], list[Any]] | None:
        """Returns what takes these arrays again, from the next message; None if they are not all of this one."""
        ...

    def placed(self, array: Any) -> Any:
        """Returns an array that came in the message, as one of the library that was asked for."""
        ...

    def finish(self) -> None:
        """Waits until the message may be sent."""

    def answer_in_host_memory(self, answer: bytes, *, own: bool) -> bytes:
        """Returns an InteractResponse, one's own or the other end's, with all its arrays in the message."""
        ...

    def request_in_host_memory(self, request: bytes, *, own: bool) -> bytes:
        """Returns an InteractRequest, one's own or the other end's, with all its arrays in the message."""
        ...
