"""Resets, steps, chunks of steps, and calls of an environment whose random number generator may be mirrored.

Wrappers on the client draw from `env.np_random`, which has to be the environment's own generator: a number drawn here
must not be drawn again on the server. Nothing is exchanged until the first read. From then on, the state is sent with
the next call if it changed here, and is returned with every answer.

Blocking and asyncio environments share these coroutines (see `envwire.client._drivers.coroutines`).
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np

from envwire.client._recovery.session_handle import BaseSessionHandle
from envwire.client._session.attribute_operations import GetRandom
from envwire.client._session.operations import NewSpaces, Operation, Reset, Step, StepMany
from envwire.client.errors import InvalidRequestError, RemoteEnvError, RemoteError
from envwire.codec import (
    Family,
    decode_random_state,
    decode_value,
    encode_random_state,
    restore_random_state,
)
from envwire.codec.steps import StepResult
from envwire.v1 import environment_pb2, spaces_pb2


class MirroredRandom:
    """The mirror of one environment's generator.

    Attributes:
        active: Whether the generator has been read.
        generator: The generator; the same object as long as its bit generator's class does not change.
        seed: The environment's `np_random_seed`; -1 if the generator was set directly.
    """

    def __init__(self, family: Family) -> None:
        self._family = family
        self._synchronised: spaces_pb2.RandomState | None = None
        self.active = False
        self.generator: np.random.Generator | None = None
        self.seed: int | None = None

    def absorb(self, mirror: environment_pb2.RandomMirror) -> None:
        """Sets the generator to the state that an answer reports."""
        self.active = True
        if mirror.HasField("np_random"):
            state, known = mirror.np_random, self.generator
            if known is not None and type(known.bit_generator).__name__ == state.bit_generator:
                restore_random_state(state, known)
            else:
                self.generator = decode_random_state(state)
            self._synchronised = self._state()
        if mirror.HasField("np_random_seed") and self.seed != -1:
            self.seed = decode_value(mirror.np_random_seed, self._family)

    def follow(self, mirror: environment_pb2.RandomMirror) -> None:
        """Takes the state that the generator has on the server, if it changed there since the last exchange."""
        if mirror.np_random != self._synchronised:
            self.absorb(mirror)

    def replace(self, generator: object) -> None:
        """Replaces the generator; the state of the new one is sent with the next call.

        Raises:
            InvalidRequestError: It is no generator of NumPy.
        """
        if not isinstance(generator, np.random.Generator):
            raise InvalidRequestError(
                f"np_random is a {type(generator).__name__}; expected a numpy.random.Generator"
            )
        self.active, self.generator, self.seed = True, generator, -1
        self._synchronised = None

    def draw_again(self, state: spaces_pb2.RandomState | None) -> None:
        """Restores the state that the generator had after draws on the client; does nothing for None."""
        if state is not None and self.generator is not None:
            restore_random_state(state, self.generator)

    def copy(self) -> MirroredRandom:
        """Returns a mirror with a generator in the same state, for a copy of the environment."""
        clone = copy.copy(self)
        clone.generator = copy.deepcopy(self.generator)
        return clone

    def changed(self) -> spaces_pb2.RandomState | None:
        """Returns the state to send: None if nothing was drawn here since the last exchange."""
        state = self._state()
        return None if state == self._synchronised else state

    def _state(self) -> spaces_pb2.RandomState | None:
        if self.generator is None:
            return None
        message = spaces_pb2.RandomState()
        encode_random_state(self.generator, message)
        return message


_T = TypeVar("_T")
Handle: TypeAlias = BaseSessionHandle[Any]

#: Most actions in one request, by the protocol.
_MAX_ACTIONS = 1024
_CAPABILITY = "chunk"


async def reset(
    handle: Handle,
    random: MirroredRandom,
    seed: int | None,
    options: dict[str, Any] | None,
) -> tuple[tuple[Any, dict[str, Any]], NewSpaces]:
    """Starts an episode; also returns the environment's new spaces.

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
        state = await _generator_state(handle)
    answer = await _ask(handle, random, Reset(seed, options, state, random.active))
    result, mirror, spaces = answer
    strategy.observe(result[0])
    if mirror is not None:
        random.absorb(mirror)
    return result, spaces


async def _generator_state(handle: Handle) -> spaces_pb2.RandomState | None:
    """Returns the generator's current state, so that a recording can begin with the reset."""
    try:
        mirror = await handle.ask(GetRandom("np_random"), recover=True)
    except Exception as error:  # no such generator; comparing digests shows whether that matters
        if isinstance(error, RemoteError) and handle.strategy.is_loss(error):
            raise
        return None
    return mirror.np_random if mirror.HasField("np_random") else None


async def mirrored_step(handle: Handle, random: MirroredRandom, action: Any) -> StepResult:
    """Takes a step of an environment whose generator is mirrored."""
    result, mirror = await _ask(handle, random, Step(action, random.changed(), True))
    if mirror is not None:
        random.absorb(mirror)
    return result


async def step_many(
    handle: Handle,
    actions: Sequence[Any],
    step: Callable[[Any], Awaitable[StepResult]],
    apart: bool,
) -> list[StepResult]:
    """Takes steps until the actions are used up or the episode ends.

    Args:
        handle: The environment.
        actions: One for each step.
        step: Takes a single step.
        apart: Whether to send each action in its own request.

    Raises:
        Exception: The exception of a step; its `steps_taken` holds the results of the steps before it.
    """
    taken: list[StepResult] = []
    error: BaseException | None = None
    try:
        while error is None and len(taken) < len(actions) and not _ended(taken):
            if apart or _CAPABILITY not in handle.live().session.capabilities:
                taken.append(await step(actions[len(taken)]))
            else:
                part = actions[len(taken) : len(taken) + _MAX_ACTIONS]
                results, error = await _take(handle, part)
                taken += results
    except Exception as raised:
        error = raised
    if error is not None:
        error.steps_taken = taken  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
        raise error
    return taken


async def _take(
    handle: Handle, actions: Sequence[Any]
) -> tuple[list[StepResult], BaseException | None]:
    """Takes several steps in one request. As with a single step, recovery of a lost session may end the episode."""
    try:
        results, error = await handle.ask(StepMany(actions), recover=True)
    except RemoteError as lost:
        return [handle.strategy.final_step(lost)], None
    if results:
        handle.strategy.observe(results[-1][0])
    return results, error


def _ended(taken: Sequence[StepResult]) -> bool:
    """Returns whether the last step ended the episode."""
    return bool(taken) and any(map(bool, taken[-1][2:4]))


async def call(handle: Handle, random: MirroredRandom, operation: Operation[_T]) -> _T:
    """Sends a request whose answer does not mirror the generator, from which the environment may draw all the same."""
    result = await _ask(handle, random, operation)
    await _follow(handle, random)
    return result


async def _ask(handle: Handle, random: MirroredRandom, operation: Operation[_T]) -> _T:
    """Sends a request; if the environment raises, it may have drawn before."""
    try:
        return await handle.ask(operation, recover=True)
    except Exception as error:
        if isinstance(error, RemoteEnvError) or not isinstance(error, RemoteError):
            with contextlib.suppress(RemoteError):  # the first error says more
                await _follow(handle, random)
        raise


async def _follow(handle: Handle, random: MirroredRandom) -> None:
    if random.active:
        random.follow(await handle.ask(GetRandom("np_random"), recover=True))


async def generator(handle: Handle, random: MirroredRandom, env_id: str) -> Any:
    """Returns the environment's generator, mirrored from now on.

    Raises:
        InvalidRequestError: The environment has no NumPy generator.
    """
    if random.generator is None:
        random.absorb(await handle.ask(GetRandom("np_random"), recover=True))
    if random.generator is None:
        raise InvalidRequestError(f"{env_id} has no np_random that can be mirrored")
    return random.generator
