"""Faults of requests that a session refuses: a wrong number, or not a request for a session."""

from __future__ import annotations

from envwire.codec import FaultError, Reason
from envwire.server._ipc.session_requests import SESSION_REQUESTS
from envwire.v1 import environment_pb2 as pb
from envwire.wire.frames import Packet

#: The answer to a step that was sent ahead and is not taken.
NOT_TAKEN = Packet(pb.InteractResponse(step=pb.StepResponse(not_taken=True)).SerializeToString())


def sequence_gap(sequence: int, expected: int) -> FaultError:
    """Returns the fault of a sequence number that is neither the last one nor the next."""
    return FaultError(
        Reason.SEQUENCE_GAP,
        f"request number {sequence} came where {expected} is next; number the requests of a session from 1, one by "
        "one, and repeat only the last",
        metadata={"expected": str(expected)},
    )


def sequence_reused(sequence: int) -> FaultError:
    """Returns the fault of a different request under the last request's number."""
    return FaultError(
        Reason.SEQUENCE_REUSED,
        f"request number {sequence} was used for another request; give each request a number of its own",
    )


def has_header(kind: str) -> FaultError:
    """Returns the fault of a session header on a connection that belongs to a single session."""
    return FaultError(
        Reason.MALFORMED_REQUEST,
        f"a {kind} request with a session header too many: over gRPC it has one, with session_id and secret both; on "
        "a direct channel, which belongs to one session, leave the field `header` out",
    )


def not_for_a_session(kind: str | None) -> FaultError:
    """Returns the fault of a request that the front answers itself, or of an empty one."""
    found = f"a {kind} request" if kind else "a request without content"
    return FaultError(
        Reason.MALFORMED_REQUEST,
        f"{found} cannot be served by a session; send one of {', '.join(sorted(SESSION_REQUESTS))}",
    )
