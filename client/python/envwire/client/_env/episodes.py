"""Resets, steps and calls of an environment whose generator may be mirrored. No I/O.

Wrappers on the client draw from `env.np_random`, which has to be the environment's own generator: a number drawn here
must not be drawn again on the server. So it is mirrored on the client from the first time it is read. Nothing is
exchanged until then; from then on, the state is sent with the next call if it changed here, and is returned with every
answer.
"""

from __future__ import annotations

import contextlib
import copy
from typing import Any, TypeVar

import numpy as np

from envwire.client._recovery.base_handle import BaseSessionHandle
from envwire.client._recovery.flows import Ask, Flow
from envwire.client._recovery.strategies import RecoveryStrategy
from envwire.client._session.attributes import GetRandom
from envwire.client._session.operations import Operation, Reset, Step
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

_T = TypeVar("_T")


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
            self._take(mirror.np_random)
        if mirror.HasField("np_random_seed") and self.seed != -1:
            self.seed = decode_value(mirror.np_random_seed, self._family)

    def follow(self, mirror: environment_pb2.RandomMirror) -> None:
        """Takes the state that the generator has on the server, if it changed there since the last exchange."""
        if mirror.np_random != self._synchronised:
            self.absorb(mirror)

    def _take(self, state: spaces_pb2.RandomState) -> None:
        kind = type(self.generator.bit_generator).__name__ if self.generator is not None else ""
        if self.generator is not None and kind == state.bit_generator:
            restore_random_state(state, self.generator)
        else:
            self.generator = decode_random_state(state)
        self._synchronised = self._state()

    def replace(self, generator: np.random.Generator) -> None:
        """Replaces the generator; the state of the new one is sent with the next call."""
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
