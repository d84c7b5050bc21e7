"""Faults of requests that are refused, and their replies."""

from __future__ import annotations

from envwire.codec import FaultError, Reason, encode_fault
from envwire.v1 import environment_pb2


def malformed(text: str, protos: str = "envwire/v1") -> FaultError:
    """Returns the MALFORMED_REQUEST error for a request.

    Args:
        text: What is wrong with it.
        protos: The folder of the proto file that describes it.
    """
    return FaultError(Reason.MALFORMED_REQUEST, f"{text}; send what protos/{protos} describes")


def fault_reply(fault: FaultError) -> environment_pb2.InteractResponse:
    """Returns the reply that carries `fault`."""
    reply = environment_pb2.InteractResponse()
    encode_fault(fault, reply.error)
    return reply


def reply_too_large(length: int, limit: int) -> FaultError:
    """Returns the fault that replaces a reply of `length` bytes, which is over the limit."""
    return FaultError(
        Reason.MESSAGE_TOO_LARGE,
        f"the reply of {length} bytes exceeds the server's limit of {limit}; the "
        "operator raises it with --max-message-bytes",
    )


def too_large(length: int, limit: int) -> bytes:
    """Returns the error that replaces a reply of `length` bytes."""
    return fault_reply(reply_too_large(length, limit)).SerializeToString()
