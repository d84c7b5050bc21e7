"""Several steps in one request: sends a chunk of actions and receives the results of all of them."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

from envwire.client._recovery.base_handle import BaseSessionHandle
from envwire.client._recovery.flows import Ask, Effect, Flow
from envwire.client._recovery.strategies import RecoveryStrategy
from envwire.client._session.operations import StepMany
from envwire.client.errors import RemoteError
from envwire.codec.steps import StepResult, truth

#: Most actions in one request, by the protocol.
_MAX_ACTIONS = 1024
_CAPABILITY = "chunk"


@dataclass(frozen=True, slots=True)
class StepAlone:
    """Take a step as `step` does; its result is returned.

    Attributes:
        action: The action.
    """

    action: Any


def step_many(
    handle: BaseSessionHandle[Any], actions: Sequence[Any], apart: bool
) -> Generator[Effect | StepAlone, Any, list[StepResult]]:
    """Takes steps until the actions are used up or the episode ends.

    Args:
        handle: The environment.
        actions: One for each step.
        apart: Whether to send each action in its own request.

    Raises:
        Exception: The exception of a step; its `steps_taken` holds the results of the steps before it.
    """
    taken: list[StepResult] = []
    error: BaseException | None = None
    try:
        while error is None and len(taken) < len(actions) and not _ended(taken):
            if apart or _CAPABILITY not in handle.live().session.capabilities:
                taken.append((yield StepAlone(actions[len(taken)])))
            else:
                part = actions[len(taken) : len(taken) + _MAX_ACTIONS]
                results, error = yield from _take(handle.strategy, part)
                taken += results
    except Exception as raised:
        error = raised
    if error is not None:
        error.steps_taken = taken  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
        raise error
    return taken


def _take(
    strategy: RecoveryStrategy, actions: Sequence[Any]
) -> Flow[tuple[list[StepResult], BaseException | None]]:
    """Takes several steps in one request. As with a single step, recovery of a lost session may end the episode."""
    try:
        results, error = yield Ask(StepMany(actions), recover=True)
    except RemoteError as lost:
        return [strategy.final_step(lost)], None
    if results:
        strategy.observe(results[-1][0])
    return results, error


def _ended(taken: Sequence[StepResult]) -> bool:
    """Returns whether the last step ended the episode; vector environments, whose flags are arrays, never end."""
    return bool(taken) and any(map(truth, taken[-1][2:4]))
