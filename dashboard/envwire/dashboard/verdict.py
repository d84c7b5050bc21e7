"""Summarizes in one sentence how the time of steps is spent."""

from __future__ import annotations

from collections.abc import Iterable

from envwire.dashboard.model import Activity

_WORDS = {
    "agent": "Agents and the network take {share} % of each step: the environments wait for them.",
    "environment": "Environments take {share} % of each step: more of them side by side, or faster ones, help.",
    "codec": "Requests other than steps, reading and writing take {share} % of each step: look at resets and at the "
    "size of observations.",
}
QUIET = "Nothing steps at the moment."


def shares(doing: Iterable[Activity]) -> dict[str, float]:
    """Returns the fraction of time per activity over all stepping sessions; sums to 1, empty when none steps."""
    stepping = [each for each in doing if each.steps > 0]
    if not stepping:
        return {}
    environment = sum(each.environment for each in stepping)
    codec = sum(each.codec for each in stepping)
    agent = sum(each.agent for each in stepping)
    whole = environment + codec + agent or 1.0
    return {"agent": agent / whole, "environment": environment / whole, "codec": codec / whole}


def verdict(parts: dict[str, float]) -> str:
    """Returns the sentence.

    Args:
        parts: The result of `shares`.
    """
    if not parts:
        return QUIET
    largest = max(parts, key=parts.__getitem__)
    return _WORDS[largest].format(share=round(100 * parts[largest]))
