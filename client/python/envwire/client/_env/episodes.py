"""Resets and steps of an environment whose generator may be mirrored. No I/O."""

from __future__ import annotations

from typing import Any

from envwire.client._env.np_random import MirroredRandom
from envwire.client._recovery.base_handle import BaseSessionHandle
from envwire.client._recovery.flows import Ask, Flow
from envwire.client._recovery.strategies import RecoveryStrategy
from envwire.client._session.attribute_operations import CallMethod, GetRandom
from envwire.client._session.operations import Reset, Step
from envwire.client.errors import InvalidRequestError, RemoteError
from envwire.codec.steps.step_codec import StepResult
from envwire.v1 import spaces_pb2


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
        random.reseeded()
    state = random.changed()
    if state is None and seed is None and strategy.recording is not None:
        # Not the mirror's: a method that was called since the last answer may have drawn.
        state = yield from _generator_state(strategy)
    result, mirror = yield Ask(Reset(seed, options, state, random.active), recover=True)
    strategy.observe(result[0])
    if mirror is not None:
        random.absorb(mirror)
    return result  # type: ignore[no-any-return]


def _generator_state(strategy: RecoveryStrategy) -> Flow[spaces_pb2.RandomState | None]:
    """Returns the generator's current state, so that a recording can begin with the reset."""
    try:
        mirror = yield Ask(GetRandom(), recover=True)
    except RemoteError as error:
        if strategy.is_loss(error):
            raise
        return None
    except Exception:  # no such generator; comparing digests shows whether that matters
        return None
    return mirror.np_random if mirror.HasField("np_random") else None


def mirrored_step(random: MirroredRandom, action: Any) -> Flow[StepResult]:
    """Takes a step of an environment whose generator is mirrored."""
    result, mirror = yield Ask(Step(action, random.changed(), True), recover=True)
    if mirror is not None:
        random.absorb(mirror)
    return result  # type: ignore[no-any-return]


def call(random: MirroredRandom, method: CallMethod) -> Flow[Any]:
    """Calls a method of an environment whose generator may be mirrored: the method may draw from it."""
    result = yield Ask(method, recover=True)
    if random.active:
        random.follow((yield Ask(GetRandom(), recover=True)))
    return result


def generator(random: MirroredRandom, env_id: str) -> Flow[Any]:
    """Returns the environment's generator, mirrored from now on.

    Raises:
        InvalidRequestError: The environment has no NumPy generator.
    """
    if random.generator is None:
        random.absorb((yield Ask(GetRandom(), recover=True)))
    if random.generator is None:
        raise InvalidRequestError(f"{env_id} has no np_random that can be mirrored")
    return random.generator
