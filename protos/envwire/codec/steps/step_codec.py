"""The types of what step codecs write and read."""

from __future__ import annotations

from typing import Any, TypeAlias

StepResult: TypeAlias = tuple[Any, Any, Any, Any, dict[Any, Any]]
"""The result of `Env.step`."""

PlainStep: TypeAlias = tuple[int, Any]
"""A step without optional fields: its sequence number, and its action or batch of actions."""
