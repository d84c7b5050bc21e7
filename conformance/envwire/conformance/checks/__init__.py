"""The checks, one file per subject. Importing a file registers its checks."""

from __future__ import annotations

from envwire.conformance.checks import core, channels, capabilities  # isort: skip

from envwire.conformance.suite.checks import CHECKS

__all__ = ["CHECKS", "capabilities", "channels", "core"]
