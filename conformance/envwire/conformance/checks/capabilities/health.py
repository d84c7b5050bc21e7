"""Health and reflection."""

from __future__ import annotations

import grpc

from envwire.conformance.outcomes import FailedError, SkippedError, expect
from envwire.conformance.suite import CheckContext, Level, cases, check

_HEALTH = "grpc.health.v1.Health"
_SERVICE = b"envwire.v1.EnvironmentService"
#: HealthCheckResponse with status SERVING: field 1, an enum.
_SERVING = b"\x08\x01"


@cases(
    {"whole-server": b"", "service": b"\x0a" + bytes([len(_SERVICE)]) + _SERVICE},
    "LIMIT-9",
    profile="ops",
)
def the_server_is_serving(context: CheckContext, request: bytes) -> None:
    """Health answers SERVING, for "" and for the service."""
    expect(context.call("Check", request, _HEALTH) == _SERVING, "SERVING")


@check("LIMIT-9", profile="ops", level=Level.RECOMMENDED)
def an_unknown_service_is_not_found(context: CheckContext) -> None:
    """Health of another service answers NOT_FOUND."""
    try:
        context.call("Check", b"\x0a\x04else", _HEALTH)
    except grpc.RpcError as error:
        code = getattr(error, "code", lambda: None)()
        expect(code is grpc.StatusCode.NOT_FOUND, f"NOT_FOUND, not {code}")
    else:
        raise FailedError("NOT_FOUND, not an answer")


@check("LIMIT-11", profile="ops", level=Level.RECOMMENDED)
def reflection_names_the_service(context: CheckContext) -> None:
    """A server without tokens lists its services by reflection."""
    if context.access.token:
        raise SkippedError("a server that asks for tokens has no reflection")
    found = context.reflect()
    expect(_SERVICE in found, "envwire.v1.EnvironmentService among the services")
