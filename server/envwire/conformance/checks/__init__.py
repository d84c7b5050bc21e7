"""The checks, a file for each subject. Importing this package fills `envwire.conformance.suite.checks.CHECKS`."""

from __future__ import annotations

from envwire.conformance.checks import core, channels, capabilities  # isort: skip

__all__ = ["capabilities", "channels", "core"]
