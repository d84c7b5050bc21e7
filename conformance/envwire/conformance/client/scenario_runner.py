"""Runs scenarios with a driver, one after another."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

from envwire.conformance.client.certificate import loopback_certificate
from envwire.conformance.client.driver import Driver
from envwire.conformance.client.scenario import Scenario, ScenarioContext
from envwire.conformance.client.server_process import server_process
from envwire.conformance.patterns import fits
from envwire.conformance.proxy import Behaviour, Certificate, Proxy
from envwire.conformance.raw import Trace
from envwire.conformance.suite.runner import Outcome, Result, outcome_of


@dataclass(frozen=True)
class ClientRunner:
    """Runs scenarios.

    Attributes:
        command: Command line of the driver.
        scenarios: The scenarios to run.
        known_failing: Patterns of the names of scenarios that are known to fail.
    """

    command: Sequence[str]
    scenarios: Sequence[Scenario]
    known_failing: Collection[str] = ()

    def results(self) -> Iterator[Result]:
        """Runs the scenarios, and yields the result of each.

        Raises:
            UnreachableError: The driver, or the server behind the proxy, does not start.
        """
        with server_process() as target, loopback_certificate() as certificate:
            driver = Driver(self.command)
            try:
                for scenario in self.scenarios:
                    if not driver.alive:
                        driver.stop()
                        driver = Driver(self.command)
                    yield self._result(scenario, driver, target, certificate)
            finally:
                driver.stop()

    def _result(
        self, scenario: Scenario, driver: Driver, target: str, certificate: Certificate
    ) -> Result:
        began, trace = time.monotonic(), Trace()
        known = fits(scenario.name, self.known_failing)
        with ExitStack() as opened:
            behaviour = scenario.behaviour() if scenario.behaviour else Behaviour()
            if scenario.behaviour:
                target = opened.enter_context(Proxy(target, behaviour, certificate)).target
            ca = str(certificate.ca) if behaviour.tls else None
            context = ScenarioContext(driver, target, scenario.transport, behaviour, trace, ca)
            outcome, text = outcome_of(partial(scenario.run, context), known)
        exchange = tuple(trace.lines()) if outcome is Outcome.FAILED else ()
        return Result(scenario, outcome, text, exchange, time.monotonic() - began)
