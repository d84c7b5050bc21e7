"""GetServerInfo and ListEnvironments."""

from __future__ import annotations

import grpc

from envwire.conformance.outcomes import FailedError, expect, expect_equal
from envwire.conformance.raw.values import UNKNOWN_FIELD
from envwire.conformance.suite import CheckContext, Level, check

_SERVICE = "envwire.v1.EnvironmentService"


@check("LIMIT-1 LIMIT-4 LEASE-2 VECTOR-7", profile="info")
def limits_are_told(context: CheckContext) -> None:
    """GetServerInfo states the largest message, the number of sessions, leases and the time for a request."""
    info = context.ask("get_server_info").of("get_server_info")
    expect(info.max_message_bytes > 0, "max_message_bytes above 0")
    expect(info.max_sessions > 0, "max_sessions above 0")
    expect(info.cpu_count > 0, "cpu_count above 0")
    expect(info.step_timeout.ToTimedelta().total_seconds() > 0, "a step_timeout above 0")
    default, most = info.default_lease.ToTimedelta(), info.max_lease.ToTimedelta()
    expect(default.total_seconds() > 0, "a default_lease above 0")
    expect(most.total_seconds() > 0, "a max_lease above 0")


@check("SESSION-25", profile="info")
def incarnation_is_that_of_make(context: CheckContext) -> None:
    """Make and GetServerInfo return the same incarnation."""
    info = context.ask("get_server_info").of("get_server_info")
    expect(info.incarnation, "an incarnation")
    expect_equal(context.make().made.incarnation, info.incarnation, "the incarnation of Make")


@check("LIMIT-4", profile="info")
def a_session_is_counted(context: CheckContext) -> None:
    """A new session is counted in active_sessions."""
    context.make()
    info = context.ask("get_server_info").of("get_server_info")
    expect(info.active_sessions >= 1, "active_sessions of at least 1 while there is a session")


@check("COMPAT-5", profile="info", level=Level.RECOMMENDED)
def capabilities_are_known_names(context: CheckContext) -> None:
    """All capabilities are in the protocol's table."""
    known = {"direct", "fork", "interact", "make", "replay", "save_state", "vector"}
    unknown = set(context.info.capabilities) - known
    expect(not unknown, f"capabilities of the table, not {sorted(unknown)}")


@check("SESSION-4", profile="info")
def what_is_listed_can_be_made(context: CheckContext) -> None:
    """ListEnvironments lists environments that Make accepts, once for each library, in order."""
    listed = context.ask("list_environments").of("list_environments").environments
    names = [(one.library, one.spec.id) for one in listed]
    expect(context.env_id("Counter") in {env_id for _, env_id in names}, "Counter on the list")
    expect(len(set(names)) == len(names), "each library and id once")
    expect(names == sorted(names), "an order by library, then by id")


@check("COMPAT-2", profile="info")
def unknown_fields_are_ignored(context: CheckContext) -> None:
    """A request with an unknown field is served."""
    context.unary.exchange_bytes("get_server_info", UNKNOWN_FIELD, context.seconds).of(
        "get_server_info"
    )


@check("COMPAT-3")
def an_unknown_method_is_unimplemented(context: CheckContext) -> None:
    """A method that the server does not have answers UNIMPLEMENTED."""
    try:
        context.call("Levitate", b"", _SERVICE)
    except grpc.RpcError as error:
        code = getattr(error, "code", lambda: None)()
        expect_equal(code, grpc.StatusCode.UNIMPLEMENTED, "the status")
    else:
        raise FailedError("UNIMPLEMENTED, not an answer")
