"""A client's session whose arrays stay on a device. A subclass, so that other sessions do not pay for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from envwire.client._session.client_device import ClientDevice
from envwire.client._session.client_session import ClientSession
from envwire.client._session.operations import Operation
from envwire.client._session.recording.recording import Recording
from envwire.codec import Family
from envwire.codec.steps import DeviceStepCodec
from envwire.wire.frames import Area


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
