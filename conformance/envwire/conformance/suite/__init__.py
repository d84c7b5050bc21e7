"""The checks of the suite: registration, selection, surroundings, results."""

from __future__ import annotations

from envwire.conformance.suite.checks import Check, Level, cases, check
from envwire.conformance.suite.context import CheckContext
from envwire.conformance.suite.selection import Selection

__all__ = ["Check", "CheckContext", "Level", "Selection", "cases", "check"]
