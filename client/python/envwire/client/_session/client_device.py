"""The device on which a proxy's arrays are, the memory there that its session shares, and that session."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from envwire.client._session.client_session import ClientSession
from envwire.client._session.operations import Operation
from envwire.client._session.recording import Recording
from envwire.codec import Family
from envwire.codec.errors.faults import CodecError
from envwire.codec.steps import DeviceStepCodec
from envwire.device.device_memory import DeviceError
from envwire.device.devices import Identity, check_device_name, identify, import_memory
from envwire.device.dlpack import DLPACK_CPU, DLPACK_CUDA
from envwire.device.libraries import LIBRARIES
from envwire.device.shared_arrays import SharedArrays
from envwire.v1 import direct_pb2, values_pb2
from envwire.wire.frames import Area

_log = logging.getLogger("envwire.client")


class ClientDevice:
    """The arrays of one session at its client (see `DeviceArrays`): in shared memory if there is any.

    Args:
        name: The device: "host", "cuda" or "cuda:N".
        library: The library of the arrays; None for the environment's own.
        copy: Whether to copy arrays out of the shared memory.
        recorded: Whether requests are recorded, so that their arrays must be in the message.

    Attributes:
        why_not: Why no memory is shared; empty if it is, or if there was no attempt yet.

    Raises:
        ValueError: There is no such device or library.
    """

    def __init__(self, name: str, library: str | None, copy: bool, *, recorded: bool) -> None:
        self.why_not = ""
        self._name, self._library, self._copy = name, library or "", copy
        self._recorded = recorded
        self._shared: SharedArrays | None = None
        self._identity: Identity | None = None
        try:
            self._identity = identify(name)
        except DeviceError as error:
            self._refuse(str(error))

    @property
    def shares(self) -> bool:
        """Whether memory is shared with the session."""
        return self._shared is not None

    @property
    def on_gpu(self) -> bool:
        """Whether memory of a GPU is shared."""
        return self._shared is not None and self._shared.memory.device[0] != DLPACK_CPU

    def greet(self, hello: direct_pb2.HelloRequest) -> None:
        """Names the device in a hello, unless its memory cannot be shared."""
        if self._identity is not None:
            hello.device.kind = direct_pb2.DeviceKind.ValueType(self._identity.kind)
            hello.device.uuid = self._identity.uuid

    def receive(self, welcome: direct_pb2.Welcome, descriptor: int | None) -> None:
        """Maps the memory that came with a welcome.

        Raises:
            DeviceError: It cannot be mapped; the next hello does not name the device.
        """
        self._shared, offered = None, welcome.device_memory
        if self._identity is None:
            return
        if not welcome.HasField("device_memory"):
            self._refuse(
                welcome.no_device_memory or "the server shares no memory over this connection"
            )
            return
        try:
            if descriptor is None:
                raise DeviceError("its descriptor did not come with the welcome")
            if not 0 < offered.answer_bytes < offered.bytes:
                raise DeviceError(f"{offered.answer_bytes} of {offered.bytes} bytes for answers")
            memory = import_memory(self._identity, descriptor, offered.bytes)
        except DeviceError as error:
            self._identity = None
            self._refuse(str(error))
            raise
        self.why_not = ""
        self._shared = SharedArrays(
            memory,
            range(offered.answer_bytes, offered.bytes),
            range(offered.answer_bytes),
            library=self._library,
            copy=self._copy,
        )

    def leave(self) -> None:
        """Lets go of the memory at the end of the session. Arrays over it keep it; no cycle of objects does."""
        self._shared = None

    def _refuse(self, why: str) -> None:
        if why != self.why_not:
            _log.warning("arrays pass through host memory instead of %s: %s", self._name, why)
        self.why_not = why

    def begin(self) -> None:
        """Begins a request: the arrays of the last one are overwritten."""
        if self._shared is not None:
            self._shared.begin()

    def finish(self) -> None:
        """Waits until a request may be sent."""
        if self._shared is not None:
            self._shared.finish()

    def put(self, value: object, tensor: values_pb2.Tensor) -> bool:
        """Writes an array into the memory (see `DeviceArrays.put`)."""
        shared = self._shared
        return shared is not None and not self._recorded and shared.put(value, tensor)

    def take(self, tensor: values_pb2.Tensor) -> Any:
        """Returns an array in the memory (see `DeviceArrays.take`)."""
        if self._shared is None:
            raise CodecError("an array on a device", "one in the message: no memory is shared")
        return self._shared.take(tensor)

    def repeat_puts(self, values: Sequence[Any]) -> Callable[[Sequence[Any]], bool] | None:
        """Returns what puts arrays again (see `DeviceArrays.repeat_puts`)."""
        return None if self._shared is None else self._shared.repeat_puts(values)

    def repeat_takes(self, values: Sequence[Any]) -> Callable[[], list[Any]] | None:
        """Returns what takes arrays again (see `DeviceArrays.repeat_takes`)."""
        return None if self._shared is None else self._shared.repeat_takes(values)

    def placed(self, array: Any) -> Any:
        """Returns an array that came in the message, as one of the library that was asked for."""
        if not self._library or array.dtype.kind not in "biufc":
            return array
        library = LIBRARIES[self._library]
        number = check_device_name(self._name)
        device = (DLPACK_CPU, 0) if number is None else (DLPACK_CUDA, number)
        return library.place(library.loaded, array, device)

    def answer_in_host_memory(self, answer: bytes, *, own: bool) -> bytes:
        """Returns an answer with its arrays (see `DeviceArrays.answer_in_host_memory`)."""
        shared = self._shared
        return answer if shared is None else shared.answer_in_host_memory(answer, own=own)

    def request_in_host_memory(self, request: bytes, *, own: bool) -> bytes:
        """Returns a request with its arrays (see `DeviceArrays.request_in_host_memory`)."""
        shared = self._shared
        return request if shared is None else shared.request_in_host_memory(request, own=own)


class DeviceSession(ClientSession):
    """The client's side of one session with arrays on a device.

    Args:
        device: The device, and what is shared there.
        family: As for `ClientSession`, as are the others.
        timeout: See there.
        recording: See there.
        label: See there.
        vector: See there.
    """

    def __init__(
        self,
        device: ClientDevice,
        family: Family,
        timeout: float | None,
        recording: Recording | None = None,
        label: str = "",
        *,
        vector: bool = False,
    ) -> None:
        family = replace(family, arrays=device)
        super().__init__(family, timeout, recording, label, vector=vector)
        self._device = device
        steps = DeviceStepCodec(family, device, vector=vector)
        self._encode_step, self._decode_step = steps.encode_request, steps.decode_response

    def next_request(self, operation: Operation[Any]) -> bytes:
        """Returns the next request (see `ClientSession.next_request`), once the server may write its answer."""
        self._device.begin()
        request = super().next_request(operation)
        self._device.finish()
        return request

    def _answered(self, message: bytes, attachments: Area | None) -> None:
        if self._recording is not None:  # digests are of the elements, wherever they were
            message = self._device.answer_in_host_memory(message, own=False)
        super()._answered(message, attachments)
