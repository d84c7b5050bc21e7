"""Leases: renewed while a client is idle, and reported when they have run out."""

from __future__ import annotations

from envwire.codec import Reason
from envwire.conformance.client.behaviours import SessionEnded, fault
from envwire.conformance.client.driver import to_protojson
from envwire.conformance.client.scenario import ScenarioContext, scenario
from envwire.conformance.raw.values import integer


@scenario("LEASE-6 LEASE-4 END-4", None)
def an_idle_client_keeps_its_session(context: ScenarioContext) -> None:
    """A session with a lease of 1.5 s lives through 4 s without a request."""
    context.make(lease=1.5)
    context.reset(1)
    context.counts([1])
    context.ask("wait", seconds=4)
    context.counts([1], start=(1, 1))
    context.close()


_ENDS = {
    reason.value: reason
    for reason in (
        Reason.SESSION_EXPIRED,
        Reason.SESSION_LOST,
        Reason.STEP_TIMEOUT,
        Reason.UNKNOWN_SESSION,
    )
}


@scenario("SESSION-29 STATE-11 ERROR-9", cases=_ENDS)
def a_session_that_ended_is_reported(context: ScenarioContext, reason: Reason) -> None:
    """A client reports that its session has ended, and does not silently make another."""
    context.make(lease=3)
    context.reset(1)
    context.counts([1])
    context.misbehave(SessionEnded(fault(reason)))
    context.expect_reason(context.fails("step", action=to_protojson(integer(1))), reason.value)
    context.fails("step", action=to_protojson(integer(1)))
    context.driver.ask("close", context.trace)
