"""Shared checks of the AdminServices of servers and gateways: page sizes and names."""

from __future__ import annotations

from envwire.admin.v1 import admin_pb2 as pb
from envwire.server._ipc.fault_replies import malformed

#: The folder of the proto file that describes the requests.
PROTOS = "envwire/admin/v1"
#: Most characters of an id or a page token; valid ones have less than 400.
_MAX_NAME = 1000
#: Most sessions on a page: some 200 kB, while gRPC's clients accept 4 MB by default.
_MAX_PAGE = 1000


def page_size(request: pb.ListSessionsRequest) -> int:
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
