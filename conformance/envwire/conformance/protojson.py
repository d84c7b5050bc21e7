"""ProtoJSON of the contract's messages, details of errors included.

Details are packed under the type URLs of google.rpc, whose messages status.proto repeats. A separate descriptor pool
has them under both names.
"""

from __future__ import annotations

from functools import cache

from google.protobuf import any_pb2, descriptor_pb2, descriptor_pool, duration_pb2, json_format
from google.protobuf.message import Message

from envwire.v1 import direct_pb2, environment_pb2, spaces_pb2, specs_pb2, status_pb2, values_pb2

_FILES = (
    any_pb2,
    duration_pb2,
    values_pb2,
    spaces_pb2,
    specs_pb2,
    status_pb2,
    environment_pb2,
    direct_pb2,
)


#: Messages of google.rpc that status.proto repeats.
_DETAILS = {"ErrorInfo", "DebugInfo", "RetryInfo"}


def to_json(message: Message) -> str:
    """Returns a message as one line of ProtoJSON."""
    return json_format.MessageToJson(
        message, indent=None, preserving_proto_field_name=False, descriptor_pool=pool()
    )


@cache
def pool() -> descriptor_pool.DescriptorPool:
    """Returns a descriptor pool of the contract's messages and google.rpc's details."""
    made = descriptor_pool.DescriptorPool()
    for module in _FILES:
        made.AddSerializedFile(module.DESCRIPTOR.serialized_pb)
    made.Add(_details())
    return made


def _details() -> descriptor_pb2.FileDescriptorProto:
    """Returns a file with the details of status.proto, in package google.rpc."""
    copied = descriptor_pb2.FileDescriptorProto.FromString(status_pb2.DESCRIPTOR.serialized_pb)
    copied.name, copied.package = "google/rpc/error_details.proto", "google.rpc"
    kept = [message for message in copied.message_type if message.name in _DETAILS]
    del copied.message_type[:]
    copied.message_type.extend(kept)
    return copied
