"""Client mode: runs a driver, a client in any language, against servers that misbehave on purpose."""

from __future__ import annotations

from envwire.conformance.client.scenario import SCENARIOS, Scenario, ScenarioContext
from envwire.conformance.client.scenarios import (
    certificates,
    cuts,
    errors,
    faithful,
    leases,
    oddities,
)

__all__ = [
    "SCENARIOS",
    "Scenario",
    "ScenarioContext",
    "certificates",
    "cuts",
    "errors",
    "faithful",
    "leases",
    "oddities",
]
