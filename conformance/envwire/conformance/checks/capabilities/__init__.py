"""Checks of optional capabilities."""

from __future__ import annotations

from envwire.conformance.checks.capabilities import (  # isort: skip
    attributes,
    np_random,
    saved_states,
    replays,
    forks,
    vectors,
    vector_members,
    member_replays,
    health,
    access,
    operators,
    draining,
)

__all__ = [
    "access",
    "attributes",
    "draining",
    "forks",
    "health",
    "member_replays",
    "np_random",
    "operators",
    "replays",
    "saved_states",
    "vector_members",
    "vectors",
]
