"""A device whose memory is shared with no session yet: arrays go in the message."""

from __future__ import annotations

import numpy as np
import pytest

from envwire.client._session.client_device import ClientDevice
from envwire.codec import CodecError
from envwire.v1 import values_pb2


def test_without_shared_memory_nothing_is_put_or_taken() -> None:
    device = ClientDevice("host", None, False, recorded=False)
    array = np.arange(3)
    assert not device.put(array, values_pb2.Tensor())
    assert device.repeat_puts([array]) is None
    assert device.repeat_takes([array]) is None
    assert device.placed(array) is array
    with pytest.raises(CodecError, match="no memory is shared"):
        device.take(values_pb2.Tensor())
