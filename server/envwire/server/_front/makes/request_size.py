"""Bounds the size of requests that the front parses itself, and of a Make's parts, since all clients wait meanwhile.

A session's request may be as large as any message, since an action may be an image; the front parses only its header,
which comes first. A Make must be small: parsing 16 MB of empty wrappers took 27.6 s.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from envwire.codec import FaultError, Reason
from envwire.server._grammar import counted
from envwire.server._ipc.refusals import SESSION_REQUESTS, malformed
from envwire.v1 import environment_pb2
from envwire.wire.envelope import REQUESTS, Addressed, split_header

#: Most fields of a large request; an InteractRequest has one.
_MAX_FIELDS = 16
#: Largest header in bytes; this server's have less than 100.
_MAX_HEADER_BYTES = 4096
#: Most characters of an id, a library's name, a wrapper's name or a render mode.
MAX_NAME_CHARACTERS = 256
#: Length of the id under which a Make may be repeated, in bytes: 128 random bits cannot be guessed.
ID_BYTES = 16
#: Most wrappers of one environment.
MAX_WRAPPERS = 64
#: Most keyword arguments of an environment, or of one wrapper.
MAX_KWARGS = 256


def split_session_request(raw: bytes) -> Addressed | None:
    """Splits off the header of a session's request without parsing the rest.

    Args:
        raw: An InteractRequest.

    Returns:
        Its parts; None if it must be parsed, since it belongs to no session or its header does not come first.
    """
    parts = split_header(raw) if REQUESTS.kind(raw) in SESSION_REQUESTS else None
    return parts if parts is not None and len(parts.header) <= _MAX_HEADER_BYTES else None


def check_size(raw: bytes, limit: int) -> None:
    """Refuses an InteractRequest that is too large to be parsed here, without parsing it.

    Call `split_session_request` first.

    Args:
        raw: The request.
        limit: Largest request in bytes that belongs to no session, or whose header does not come first.

    Raises:
        FaultError: MESSAGE_TOO_LARGE or MALFORMED_REQUEST.
    """
    if len(raw) <= limit:
        return
    try:
        for _ in islice(REQUESTS.kinds(raw), _MAX_FIELDS):
            pass
    except ValueError as error:
        raise malformed(f"not an InteractRequest: {error}") from error
    raise FaultError(
        Reason.MESSAGE_TOO_LARGE,
        f"a request of {len(raw)} bytes; a Make, or another one that belongs to no session, has at most {limit}, and "
        "so has one that does not begin with its header. The operator raises the number with --max-make-bytes",
    )


def check_request_id(request: environment_pb2.MakeRequest) -> None:
    """Refuses a Make under an id of another size than is accepted.

    Raises:
        FaultError: MALFORMED_REQUEST.
    """
    if request.request_id and len(request.request_id) != ID_BYTES:
        raise FaultError(
            Reason.MALFORMED_REQUEST,
            f"a request_id of {counted(len(request.request_id), 'byte')}; send {ID_BYTES} random bytes, or none",
        )


def check_bounds(request: environment_pb2.MakeRequest) -> None:
    """Refuses a Make that asks for more than any environment needs, before anything of it is decoded or looked up.

    Raises:
        FaultError: INVALID_VALUE, with the bound.
    """
    for what, count, most in _counts(request):
        if count > most:
            raise FaultError(Reason.INVALID_VALUE, f"{what}: {count}; a Make has at most {most}")


def _counts(request: environment_pb2.MakeRequest) -> Iterator[tuple[str, int, int]]:
    """Yields (name, count, limit), cheap counts first, so that a sequence that is too long is never iterated."""
    for field in ("env_id", "library", "prefer", "render_mode"):
        yield f"characters of {field}", len(getattr(request, field)), MAX_NAME_CHARACTERS
    yield "keyword arguments", len(request.kwargs.entries), MAX_KWARGS
    yield "wrappers", len(request.wrappers), MAX_WRAPPERS
    for wrapper in request.wrappers:
        yield "characters of a wrapper's name", len(wrapper.name), MAX_NAME_CHARACTERS
        yield "keyword arguments of a wrapper", len(wrapper.kwargs.entries), MAX_KWARGS
    members = request.vector.member_kwargs
    yield "members with keyword arguments", len(members), request.vector.num_envs
    for kwargs in members:
        yield "keyword arguments of a member", len(kwargs.entries), MAX_KWARGS
