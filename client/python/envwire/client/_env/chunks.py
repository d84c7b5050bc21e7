"""Several steps in one request: a chunk of actions goes out, and the answers to all of them come back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from envwire.client._recovery.session_handle import SessionHandle
from envwire.client._session.operations import StepMany
from envwire.client.errors import RemoteError
from envwire.codec.steps.step_codec import StepResult

#: Actions in one request: as many as a server takes.
_MAX_ACTIONS = 1024
_CAPABILITY = "chunk"


class Stepper(Protocol):
    """What takes steps one by one."""

    def step(self, action: Any) -> StepResult:
        """Takes a step."""
        ...


def step_many(
    env: Stepper, handle: SessionHandle, actions: Sequence[Any], apart: bool
) -> list[StepResult]:
    """Takes steps until the actions are used up or the episode ends.

    Args:
        env: Takes steps where they have to be taken one by one.
        handle: Whichever session holds the environment.
        actions: One for each step.
        apart: Whether each step has to be a request of its own.

    Raises:
        Exception: What a step raised; its `steps_taken` holds the results of those before.
    """
    taken: list[StepResult] = []
    error: BaseException | None = None
    try:
        while error is None and len(taken) < len(actions) and not _ended(taken):
            if apart or _CAPABILITY not in handle.live().session.capabilities:
                taken.append(env.step(actions[len(taken)]))
            else:
                part = actions[len(taken) : len(taken) + _MAX_ACTIONS]
                results, error = _take(handle, part)
                taken += results
    except Exception as raised:
        error = raised
    if error is not None:
        error.steps_taken = taken  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
        raise error
    return taken


def _take(
    handle: SessionHandle, actions: Sequence[Any]
) -> tuple[list[StepResult], BaseException | None]:
    """Takes some of the steps; a session that is lost may end the episode, as it does for one step."""
    try:
        results, error = handle.serve(StepMany(actions))
    except RemoteError as lost:
        return [handle.strategy.ending(lost)], None
    if results:
        handle.strategy.saw(results[-1][0])
    return results, error


def _ended(taken: Sequence[StepResult]) -> bool:
    """Tells whether the last step ended the episode; the members of a vector environment go on by themselves."""
    if not taken:
        return False
    _, _, terminated, truncated, _ = taken[-1]
    return any(getattr(flag, "ndim", 0) == 0 and bool(flag) for flag in (terminated, truncated))
