"""Faults as replies, and the faults that more than one module raises."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from envwire.codec import FaultError, Reason, RemoteExceptionInfo, encode_fault
from envwire.v1 import environment_pb2

#: Characters of an id for which similar ones are looked for.
_MAX_COMPARED = 64


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


def unknown_environment(env_id: str, known: Iterable[str]) -> FaultError:
    """Says that `env_id` is not served, and which similar ids are."""
    # Comparing takes time by the lengths: an id of 32 MB took 10.8 s, and nobody mistypes one of 65 characters.
    compared = sorted(set(known)) if len(env_id) <= _MAX_COMPARED else []
    near = difflib.get_close_matches(env_id, compared, n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else "`envwire list TARGET` shows what is."
    text = f"environment {env_id!r} is not served here; {hint}"
    return FaultError(
        Reason.UNKNOWN_ENVIRONMENT,
        text,
        exception=RemoteExceptionInfo("gymnasium.error.NameNotFound", text, (text,)),
    )
