"""Clients report errors by their reason, and unknown reasons by their status."""

from __future__ import annotations

from envwire.codec import Reason
from envwire.conformance.client.behaviours import Refusing, fault
from envwire.conformance.client.driver import shown
from envwire.conformance.client.scenario import Stage, scenario
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
def a_refused_step_is_reported(stage: Stage, reason: Reason) -> None:
    """A failed step is reported with its reason, and the next step succeeds."""
    stage.make()
    stage.reset(1)
    stage.counts([1])
    stage.misbehave(Refusing(fault(reason), last=1))
    found = stage.fails("step", action=shown(integer(1)))
    stage.expect_reason(found, reason.value)
    stage.driver.ask("close", stage.trace)


@scenario("ERROR-9 ERROR-4", cases={reason.value: reason for reason in _OF_A_MAKE})
def a_refused_make_is_reported(stage: Stage, reason: Reason) -> None:
    """A failed Make is reported with its reason."""
    stage.misbehave(Refusing(fault(reason), kind="make"))
    stage.expect_reason(stage.fails("make", **stage.making()), reason.value)


@scenario("LIMIT-7 ERROR-4")
def a_server_that_drains_is_left_or_waited_for(stage: Stage) -> None:
    """A Make answered with DRAINING and RetryInfo is reported, or repeated and served."""
    stage.misbehave(Refusing(fault(Reason.DRAINING, 0.1), kind="make", last=1))
    answer = stage.driver.ask("make", stage.trace, **stage.making())
    if "error" in answer:
        stage.expect_reason(answer["error"].get("reason", ""), "DRAINING")
    else:
        stage.reset(1)
        stage.counts([1])
        stage.close()


@scenario("ERROR-9 ERROR-10")
def an_unknown_reason_is_an_error(stage: Stage) -> None:
    """An unknown reason is reported by its status, and the client goes on."""
    status = fault(Reason.ENVIRONMENT_RAISED)
    info = status_pb2.ErrorInfo(reason="FROM_THE_FUTURE", domain="envwire")
    status.details[0].value = info.SerializeToString()
    stage.make()
    stage.reset(1)
    stage.misbehave(Refusing(status, last=1))
    stage.fails("step", action=shown(integer(1)))
    stage.driver.ask("close", stage.trace)
    stage.misbehave(Behaviour())
    stage.make()
    stage.reset(1)
    stage.counts([1])
    stage.close()


@scenario("ERROR-10")
def a_status_without_details_is_an_error(stage: Stage) -> None:
    """A gRPC status without details is reported as an error."""
    stage.make()
    stage.reset(1)
    stage.misbehave(Refusing(status_pb2.ErrorStatus(code=9, message="no"), last=1))
    answer = stage.driver.ask("step", stage.trace, action=shown(integer(1)))
    expect("error" in answer, "an error")
    stage.driver.ask("close", stage.trace)
