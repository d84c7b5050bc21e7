"""The kinds of requests that a session serves: numbered, and relayed by the front."""

from __future__ import annotations

from envwire.v1 import environment_pb2

#: By their fields in InteractRequest.
SESSION_REQUESTS = frozenset(
    field.name
    for field in environment_pb2.InteractRequest.DESCRIPTOR.oneofs_by_name["request"].fields
    if field.message_type and "sequence" in field.message_type.fields_by_name
)
