"""Servers with a certificate: clients verify it for the name that they dialled."""

from __future__ import annotations

from envwire.conformance.client.behaviours import Certified, CertifiedElsewhere
from envwire.conformance.client.scenario import ScenarioContext, scenario
from envwire.conformance.outcomes import expect_equal

_GRPC = ("unary", "stream")


@scenario("SESSION-24", Certified, over=_GRPC)
def a_certificate_for_the_name_is_trusted(context: ScenarioContext) -> None:
    """The client is told the authority, and drives a server whose certificate is for the dialled address."""
    context.make()
    context.reset(1)
    context.counts([1, 0, 1])
    context.close()


@scenario("SESSION-24", CertifiedElsewhere, over=_GRPC)
def a_certificate_for_another_name_is_refused(context: ScenarioContext) -> None:
    """The same certificate at an address that it is not for: the client makes nothing there."""
    context.fails("make", **context.making())
    behaviour = context.behaviour
    assert isinstance(behaviour, Certified)  # noqa: S101 - for the type checker
    expect_equal(behaviour.seen, 0, "the number of Make that arrived")
