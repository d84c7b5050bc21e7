"""A packet for a carrier that has no attachments: its arrays back in the message.

Only a reply that is asked for again on another carrier comes here, after a direct channel was cut for instance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from envwire.codec.frames import Packet
from envwire.codec.nested import nested
from envwire.codec.tensors import byte_length
from envwire.v1 import environment_pb2, values_pb2

if TYPE_CHECKING:
    from google.protobuf.message import Message


def inlined(packet: Packet) -> Packet:
    """Returns the packet of an InteractResponse with all its arrays in the message."""
    if packet.attachments is None or not packet.attachments.length:
        return Packet(packet.message)
    response = environment_pb2.InteractResponse.FromString(packet.message)
    _fill(response, b"".join(packet.attachments.buffers))
    return Packet(response.SerializeToString())


def _fill(message: Message, attached: bytes) -> None:
    """Gives every tensor in a message the elements that it refers to."""
    if isinstance(message, values_pb2.Tensor):
        _fill_tensor(message, attached)
        return
    for child in nested(message):
        _fill(child, attached)


def _fill_tensor(tensor: values_pb2.Tensor, attached: bytes) -> None:
    if not tensor.HasField("attachment_offset"):
        return
    length = byte_length(tensor)
    tensor.data = attached[tensor.attachment_offset : tensor.attachment_offset + length]
    tensor.ClearField("attachment_offset")
