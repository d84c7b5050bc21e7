"""Reports of a run: text, a badge, and JUnit and JSON for programs."""

from __future__ import annotations

from envwire.conformance.report.files import json_text, junit_text
from envwire.conformance.report.lines import Counts, badge, line, listing, needs

__all__ = ["Counts", "badge", "json_text", "junit_text", "line", "listing", "needs"]
