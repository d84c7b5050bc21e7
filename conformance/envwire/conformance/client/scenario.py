"""A scenario: a server that misbehaves in one way, and the checks of how a client copes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from envwire.conformance.client.behaviours import Replaceable
from envwire.conformance.client.driver import Driver, to_protojson, value_of
from envwire.conformance.outcomes import FailedError, expect, expect_equal
from envwire.conformance.proxy import Behaviour
from envwire.conformance.raw import Trace
from envwire.conformance.raw.values import int64s, integer
from envwire.conformance.suite.checks import Description, Level, described, with_case
from envwire.v1.values_pb2 import Value, ValueMap

TRANSPORTS = ("unary", "stream", "direct")


@dataclass
class ScenarioContext:
    """What a scenario works with.

    Attributes:
        driver: The client.
        target: HOST:PORT of the server.
        transport: The transport that the client has to use.
        behaviour: How the server misbehaves.
        trace: Records what was sent and received.
        ca: PEM file of the authority to trust; None for a server without TLS.
    """

    driver: Driver
    target: str
    transport: str
    behaviour: Behaviour
    trace: Trace
    ca: str | None = None

    def ask(self, what: str, **fields: Any) -> Mapping[str, Any]:
        """Sends the driver a command that has to succeed.

        Raises:
            FailedError: The command failed.
        """
        answer = self.driver.ask(what, self.trace, **fields)
        if "ok" not in answer:
            raise FailedError(f"{what} to succeed, not {answer.get('error')}")
        found: Mapping[str, Any] = answer["ok"]
        return found

    def fails(self, what: str, **fields: Any) -> str:
        """Sends the driver a command that has to fail, and returns the reason.

        Raises:
            FailedError: The command succeeded.
        """
        answer = self.driver.ask(what, self.trace, **fields)
        if "error" not in answer:
            raise FailedError(f"{what} to fail")
        reason: str = answer["error"].get("reason", "")
        return reason

    def make(self, name: str = "Counter", **options: Any) -> None:
        """Makes an environment."""
        self.ask("make", **self.making(name, **options))

    def making(self, name: str = "Counter", **options: Any) -> dict[str, Any]:
        """Returns the fields of the command that makes an environment."""
        env_id = f"Conformance/{name}-v0"
        fields = {"target": self.target, "transport": self.transport, "env_id": env_id}
        return {**fields, **({"ca": self.ca} if self.ca else {}), **options}

    def reset(self, seed: int | None = None, options: ValueMap | None = None) -> Value:
        """Resets, and returns the info."""
        fields: dict[str, Any] = {} if seed is None else {"seed": seed}
        if options is not None:
            fields["options"] = to_protojson(Value(dict=options))
        return value_of(self.ask("reset", **fields), "info")

    def step(self, action: Value | int) -> Mapping[str, Any]:
        """Steps, and returns the answer."""
        value = integer(action) if isinstance(action, int) else action
        return self.ask("step", action=to_protojson(value))

    def counts(self, actions: Sequence[int], start: Sequence[int] = (0, 0)) -> None:
        """Steps Counter, and compares each observation with the expected count.

        Raises:
            FailedError: A step was lost, or taken twice.
        """
        steps, total = start
        for action in actions:
            steps, total = steps + 1, total + action
            observation = value_of(self.step(action), "observation")
            expect_equal(int64s(observation), [steps, total], "steps and sum")

    def misbehave(self, behaviour: Behaviour) -> None:
        """Changes how the server behaves from now on.

        Raises:
            TypeError: The scenario has a behaviour of its own.
        """
        if not isinstance(self.behaviour, Replaceable):
            raise TypeError("only a scenario without a behaviour of its own can exchange it")
        self.behaviour.now = behaviour

    def close(self) -> None:
        """Closes the environment."""
        self.ask("close")

    def observed(self, action: Value) -> Value:
        """Steps, and returns the observation."""
        return value_of(self.step(action), "observation")

    def expect_reason(self, found: str, *reasons: str) -> None:
        """Checks that a reason is one of the expected ones."""
        expect(found in reasons, f"the reason {' or '.join(reasons)}, not {found or 'none'!r}")


@dataclass(frozen=True)
class Scenario(Description):
    """One scenario over one transport.

    Attributes:
        run: Runs the scenario.
        behaviour: Makes the server's behaviour; None for a server without a proxy.
    """

    run: Callable[[ScenarioContext], None]
    behaviour: Callable[[], Behaviour] | None

    @property
    def transport(self) -> str:
        """The client's transport, which reports count by."""
        return self.profile


#: All scenarios, in running order.
SCENARIOS: list[Scenario] = []


def scenario(
    proves: str,
    behaviour: Callable[[], Behaviour] | None = Replaceable,
    *,
    over: Sequence[str] = TRANSPORTS,
    cases: Mapping[str, Any] | None = None,
    level: Level = Level.REQUIRED,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Registers a function as a scenario, for each transport and each case.

    Args:
        proves: Ids of sentences of docs/protocol.md, separated by blanks.
        behaviour: Makes the server's behaviour; by default one that `misbehave` replaces; None for no proxy.
        over: The transports.
        cases: The function's second argument in each case, by name.
        level: Whether the scenario is required.
    """
    table = cases or {"": None}

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        for case, transport in product(table, over):
            name, summary = described(function, case, transport)
            run = with_case(function, table, case)
            SCENARIOS.append(
                Scenario(name, transport, tuple(proves.split()), level, summary, run, behaviour)
            )
        return function

    return decorate
