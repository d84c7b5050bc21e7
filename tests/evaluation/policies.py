"""Policies that tests evaluate."""

from __future__ import annotations

from typing import Any

from tests.hosted_envs import Fault


def fatal(_: Any) -> Fault:
    return Fault.ABORT
