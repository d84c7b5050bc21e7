"""Encodes faults as replies."""

from __future__ import annotations

from envwire.codec import FaultError, encode_fault
from envwire.v1 import environment_pb2


def fault_reply(fault: FaultError) -> environment_pb2.InteractResponse:
    """Returns the reply that carries `fault`."""
    reply = environment_pb2.InteractResponse()
    encode_fault(fault, reply.error)
    return reply


def afresh(fault: FaultError) -> FaultError:
    """Returns the same fault as a new exception: one that is raised again and again collects tracebacks."""
    return FaultError(
        fault.reason,
        fault.message,
        metadata=fault.metadata,
        output=fault.output,
        traceback=fault.traceback,
        retry_after=fault.retry_after,
        exception=fault.exception,
        code=fault.code,
    )
