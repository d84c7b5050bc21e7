"""The kinds of requests that a session serves; they are numbered, and the front relays them."""

from __future__ import annotations

from envwire.v1 import environment_pb2

#: Names of their fields in InteractRequest.
SESSION_REQUESTS = frozenset(
    field.name
    for field in environment_pb2.InteractRequest.DESCRIPTOR.oneofs_by_name["request"].fields
    if field.message_type and "sequence" in field.message_type.fields_by_name
)
