"""Resets, steps, chunks of steps, and calls of an environment whose generator may be mirrored. No I/O."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from envwire.client._env.np_random import MirroredRandom
from envwire.client._recovery.base_handle import BaseSessionHandle
from envwire.client._recovery.flows import Ask, Asking, Effect, Flow
from envwire.client._recovery.strategies import RecoveryStrategy
from envwire.client._session.attributes import GetRandom
from envwire.client._session.operations import Operation, Reset, Step, StepMany
from envwire.client.errors import InvalidRequestError, RemoteEnvError, RemoteError
from envwire.codec.steps import StepResult, truth
from envwire.v1 import spaces_pb2

_T = TypeVar("_T")

#: Most actions in one request, by the protocol.
_MAX_ACTIONS = 1024
_CAPABILITY = "chunk"


def reset(
    handle: BaseSessionHandle[Any],
    random: MirroredRandom,
    seed: int | None,
    options: dict[str, Any] | None,
) -> Flow[tuple[Any, dict[str, Any]]]:
    """Starts an episode.

    Args:
        handle: The environment.
        random: The mirror of its generator.
        seed: As for `Env.reset`.
        options: As for `Env.reset`.
    """
    strategy = handle.strategy
    if seed is not None:
        random.seed = None  # the answer has the new one
    state = random.changed()
    if state is None and seed is None and strategy.recording is not None:
        # Not the mirror's: a method that was called since the last answer may have drawn.
        state = yield from _generator_state(strategy)
    result, mirror = yield from _ask(random, Reset(seed, options, state, random.active))
    strategy.observe(result[0])
    if mirror is not None:
        random.absorb(mirror)
    return result


def _generator_state(strategy: RecoveryStrategy) -> Flow[spaces_pb2.RandomState | None]:
    """Returns the generator's current state, so that a recording can begin with the reset."""
    try:
        mirror = yield Ask(GetRandom("np_random"), recover=True)
    except Exception as error:  # no such generator; comparing digests shows whether that matters
        if isinstance(error, RemoteError) and strategy.is_loss(error):
            raise
        return None
    return mirror.np_random if mirror.HasField("np_random") else None


def mirrored_step(random: MirroredRandom, action: Any) -> Flow[StepResult]:
    """Takes a step of an environment whose generator is mirrored."""
    result, mirror = yield from _ask(random, Step(action, random.changed(), True))
    if mirror is not None:
        random.absorb(mirror)
    return result


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
) -> Asking[tuple[list[StepResult], BaseException | None]]:
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


def call(random: MirroredRandom, operation: Operation[_T]) -> Flow[_T]:
    """Sends a request whose answer does not mirror the generator, from which the environment may draw all the same."""
    result: _T = yield from _ask(random, operation)
    yield from _follow(random)
    return result


def _ask(random: MirroredRandom, operation: Operation[_T]) -> Flow[_T]:
    """Sends a request; if the environment raises, it may have drawn before."""
    try:
        return (yield Ask(operation, recover=True))  # type: ignore[no-any-return]
    except Exception as error:
        if isinstance(error, RemoteEnvError) or not isinstance(error, RemoteError):
            with contextlib.suppress(RemoteError):  # the first error says more
                yield from _follow(random)
        raise


def _follow(random: MirroredRandom) -> Flow[None]:
    if random.active:
        random.follow((yield Ask(GetRandom("np_random"), recover=True)))


def generator(random: MirroredRandom, env_id: str) -> Flow[Any]:
    """Returns the environment's generator, mirrored from now on.

    Raises:
        InvalidRequestError: The environment has no NumPy generator.
    """
    if random.generator is None:
        random.absorb((yield Ask(GetRandom("np_random"), recover=True)))
    if random.generator is None:
        raise InvalidRequestError(f"{env_id} has no np_random that can be mirrored")
    return random.generator
