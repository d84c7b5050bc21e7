"""Requests that are refused: their faults and replies, and the checks that servers and gateways share."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from envwire.codec import FaultError, Reason, RemoteExceptionInfo, encode_fault
from envwire.server._grammar import did_you_mean, enumerated
from envwire.v1 import environment_pb2 as pb
from envwire.wire.frames import Packet

if TYPE_CHECKING:
    from envwire.admin.v1 import admin_pb2

#: Names of their fields in InteractRequest.
SESSION_REQUESTS = frozenset(
    field.name
    for field in pb.InteractRequest.DESCRIPTOR.oneofs_by_name["request"].fields
    if field.message_type and "sequence" in field.message_type.fields_by_name
)


def malformed(text: str, protos: str = "envwire/v1") -> FaultError:
    """Returns the MALFORMED_REQUEST error for a request.

    Args:
        text: What is wrong with it.
        protos: The folder of the proto file that describes it.
    """
    return FaultError(Reason.MALFORMED_REQUEST, f"{text}; send what protos/{protos} describes")


def fault_reply(fault: FaultError) -> pb.InteractResponse:
    """Returns the reply that carries `fault`."""
    reply = pb.InteractResponse()
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


#: Longest part of an id that is split into namespace, name and version, in characters.
_MAX_SPLIT = 256
_LISTS = "`envwire list TARGET` shows what is"
_ID = re.compile(r"(?:(?P<namespace>.+)/)?(?P<name>[^/]+?)(?:-v(?P<version>\d+))?")


def unknown_environment(
    env_id: str, listed: Iterable[tuple[str, str]], library: str = ""
) -> FaultError:
    """Returns the fault for `env_id`.

    Args:
        env_id: What the client asked for.
        listed: The libraries and ids that are served.
        library: The library that the client asked for; empty for any.
    """
    listed = list(listed)
    served = sorted({known for name, known in listed if library in ("", name)})
    elsewhere = sorted({name for name, known in listed if known == env_id})
    hint = (
        f"ask for {enumerated(elsewhere, 'or')}"
        if elsewhere
        else did_you_mean(env_id, served, _LISTS)
    )
    place = f"of library {library!r} " if library else ""
    text = f"environment {env_id!r} {place}is not served here; {hint}"
    kind = f"gymnasium.error.{_error_name(env_id, served)}"
    return FaultError(
        Reason.UNKNOWN_ENVIRONMENT, text, exception=RemoteExceptionInfo(kind, text, (text,))
    )


def _error_name(env_id: str, served: list[str]) -> str:
    """Returns the class that Gymnasium's `make` would raise if its registry had only the served ids."""
    namespace, name, version = _parts(env_id)
    parts = [_parts(other) for other in served]
    if namespace and namespace not in {other for other, _, _ in parts}:
        return "NamespaceNotFound"
    versions = [of for where, other, of in parts if (where, other) == (namespace, name)]
    if not versions:
        return "NameNotFound"
    return "VersionNotFound" if version > max(versions) else "DeprecatedEnv"


def _parts(env_id: str) -> tuple[str, str, int]:
    """Returns namespace, name and version of an id; "" or -1 for a missing part."""
    match = _ID.fullmatch(env_id[:_MAX_SPLIT])
    if match is None:
        return "", env_id, -1
    namespace, name, version = match.group("namespace", "name", "version")
    return namespace or "", name, -1 if version is None else int(version)


#: The folder of the proto file that describes the requests.
PROTOS = "envwire/admin/v1"
#: Most characters of an id or a page token; valid ones have less than 400.
_MAX_NAME = 1000
#: Most sessions on a page: some 200 kB, while gRPC's clients accept 4 MB by default.
_MAX_PAGE = 1000


def page_size(request: admin_pb2.ListSessionsRequest) -> int:
    """Returns the requested page size, within its limit.

    Raises:
        FaultError: MALFORMED_REQUEST.
    """
    check_name("page_token", request.page_token)
    if request.page_size < 0:
        raise malformed(f"page_size is {request.page_size}; it must be 0 or more", PROTOS)
    return min(request.page_size or _MAX_PAGE, _MAX_PAGE)


def check_name(field: str, name: str) -> None:
    """Refuses a name that is too long to be valid.

    Raises:
        FaultError: MALFORMED_REQUEST.
    """
    if len(name) > _MAX_NAME:
        raise malformed(
            f"{field} has {len(name)} characters, and at most {_MAX_NAME} make sense", PROTOS
        )
