"""Gives wheels `envwire.__version__`."""

from __future__ import annotations

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class WheelHook(BuildHookInterface[Any]):
    """Adds package.py as `envwire/__init__.py`, but not to editable installs, where it would hide the source roots."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Is called before a build."""
        if version == "standard":
            build_data["force_include"]["client/python/package.py"] = "envwire/__init__.py"
