"""How large a request may be that the front itself reads: it parses such requests, while all clients wait.

What belongs to a session may be as large as a message; an action may be a picture. A Make is small: parsing 16 MB of
empty wrappers took 27.6 s.
"""

from __future__ import annotations

from envwire.codec import FaultError, Reason
from envwire.server._ipc.session_requests import SESSION_REQUESTS
from envwire.wire.envelope import REQUESTS

#: Fields that a large request may consist of; an InteractRequest has one.
_MAX_FIELDS = 16


def check_size(raw: bytes, limit: int) -> None:
    """Refuses an InteractRequest that is too large for what it asks for, without parsing it.

    Args:
        raw: The request.
        limit: The most bytes of one that belongs to no session.

    Raises:
        FaultError: MESSAGE_TOO_LARGE or MALFORMED_REQUEST.
    """
    if len(raw) <= limit:
        return
    try:
        for count, kind in enumerate(REQUESTS.kinds(raw)):
            if count == _MAX_FIELDS or kind not in SESSION_REQUESTS:
                raise FaultError(
                    Reason.MESSAGE_TOO_LARGE,
                    f"a request of {len(raw)} bytes; a Make, or another one that belongs to no session, has at most "
                    f"{limit}. The operator raises the number with --max-make-bytes",
                )
    except ValueError as error:
        raise FaultError(
            Reason.MALFORMED_REQUEST,
            f"not an InteractRequest: {error}; send what protos/envwire/v1 describes",
        ) from error
