"""Clients report errors by their reason, and unknown reasons by their status."""

from __future__ import annotations

from envwire.codec import Reason
from envwire.conformance.client.behaviours import Refusing, fault
from envwire.conformance.client.driver import to_protojson
from envwire.conformance.client.scenario import ScenarioContext, scenario
from envwire.conformance.outcomes import expect
from envwire.conformance.proxy import Behaviour
from envwire.conformance.raw.values import integer
from envwire.v1 import status_pb2

_OF_A_STEP = (
    Reason.INVALID_VALUE,
    Reason.INVALID_ACTION,
    Reason.RESET_NEEDED,
    Reason.MESSAGE_TOO_LARGE,
    Reason.ENVIRONMENT_RAISED,
    Reason.UNSUPPORTED,
)
_OF_A_MAKE = (
    Reason.UNKNOWN_ENVIRONMENT,
    Reason.KWARGS_NOT_ALLOWED,
    Reason.WRAPPER_NOT_ALLOWED,
    Reason.CAPACITY_REACHED,
    Reason.CLIENT_LIMIT_REACHED,
    Reason.SCOPE_MISSING,
    Reason.UNAUTHENTICATED,
)


@scenario("ERROR-9 ERROR-8 ERROR-4", cases={reason.value: reason for reason in _OF_A_STEP})
def a_refused_step_is_reported(context: ScenarioContext, reason: Reason) -> None:
    """A failed step is reported with its reason, and the next step succeeds."""
    context.make()
    context.reset(1)
    context.counts([1])
    context.misbehave(Refusing(fault(reason), last=1))
    found = context.fails("step", action=to_protojson(integer(1)))
    context.expect_reason(found, reason.value)
    context.driver.ask("close", context.trace)


@scenario("ERROR-9 ERROR-4", cases={reason.value: reason for reason in _OF_A_MAKE})
def a_refused_make_is_reported(context: ScenarioContext, reason: Reason) -> None:
    """A failed Make is reported with its reason."""
    context.misbehave(Refusing(fault(reason), kind="make"))
    context.expect_reason(context.fails("make", **context.making()), reason.value)


@scenario("LIMIT-7 ERROR-4")
def a_server_that_drains_is_left_or_waited_for(context: ScenarioContext) -> None:
    """A Make answered with DRAINING and RetryInfo is reported, or repeated and served."""
    context.misbehave(Refusing(fault(Reason.DRAINING, 0.1), kind="make", last=1))
    answer = context.driver.ask("make", context.trace, **context.making())
    if "error" in answer:
        context.expect_reason(answer["error"].get("reason", ""), "DRAINING")
    else:
        context.reset(1)
        context.counts([1])
        context.close()


@scenario("ERROR-9 ERROR-10")
def an_unknown_reason_is_an_error(context: ScenarioContext) -> None:
    """An unknown reason is reported by its status, and the client goes on."""
    status = fault(Reason.ENVIRONMENT_RAISED)
    info = status_pb2.ErrorInfo(reason="FROM_THE_FUTURE", domain="envwire")
    status.details[0].value = info.SerializeToString()
    context.make()
    context.reset(1)
    context.misbehave(Refusing(status, last=1))
    context.fails("step", action=to_protojson(integer(1)))
    context.driver.ask("close", context.trace)
    context.misbehave(Behaviour())
    context.make()
    context.reset(1)
    context.counts([1])
    context.close()


@scenario("ERROR-10")
def a_status_without_details_is_an_error(context: ScenarioContext) -> None:
    """A gRPC status without details is reported as an error."""
    context.make()
    context.reset(1)
    context.misbehave(Refusing(status_pb2.ErrorStatus(code=9, message="no"), last=1))
    answer = context.driver.ask("step", context.trace, action=to_protojson(integer(1)))
    expect("error" in answer, "an error")
    context.driver.ask("close", context.trace)
