"""A vector environment whose sub-environments run in processes on this machine."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from enum import Enum
from typing import Any, cast

import numpy as np

from envwire.envs import error, logger
from envwire.envs._env import ActType, Info, ObsType, Options
from envwire.envs.core import Env, RenderFrame
from envwire.envs.type_guards import is_integer
from envwire.envs.vector import utils
from envwire.envs.vector.async_processes import Command, WorkerExitedError, WorkerProcesses
from envwire.envs.vector.sub_environments import (
    ArraysStep,
    ObservationMode,
    Seeds,
    VectorOfEnvs,
    pop_reset_mask,
    spread_seed,
)
from envwire.envs.vector.vector_env import AutoresetMode

__all__ = ["AsyncState", "AsyncVectorEnv"]


class AsyncState(Enum):
    """The call whose results an `AsyncVectorEnv` has not collected yet."""

    DEFAULT = "default"
    WAITING_RESET = "reset"
    WAITING_STEP = "step"
    WAITING_CALL = "call"


class AsyncVectorEnv(VectorOfEnvs[ObsType, ActType]):
    """Many environments, each in its process, stepped at the same time.

    `reset`, `step` and `call` have two parts: ``step_async`` sends the actions and ``step_wait``
    collects the results. The first environment is also made, and closed again, in
    this process, for its spaces. An exception in a sub-environment is raised here, and leaves all
    of them as they are.

    Args:
        env_fns: One function per sub-environment, which makes it.
        shared_memory: Whether observations come through shared memory, for spaces of fixed size.
        copy: Whether `reset` and `step` return fresh observations instead of a reused buffer.
        context: How `multiprocessing` starts processes: ``"fork"``, ``"spawn"``, ``"forkserver"``.
        daemon: Whether the processes end with this one, and may have no children themselves.
        observation_mode: As in `SyncVectorEnv`.
        autoreset_mode: When a sub-environment whose episode has ended is reset.
        max_concurrency: The number that may work at once; ``None`` for all.

    Raises:
        RuntimeError: The spaces of the sub-environments are incompatible.
        ValueError: There is no such mode, ``max_concurrency`` is not a positive integer, or the space
            cannot be in shared memory.
        TypeError: The space has no fixed size, or ``observation_mode`` is a pair of non-spaces.
    """

    def __init__(
        self,
        env_fns: Sequence[Callable[[], Env]],
        shared_memory: bool = True,
        copy: bool = True,
        context: str | None = None,
        daemon: bool = True,
        observation_mode: ObservationMode = "same",
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        max_concurrency: int | None = None,
    ) -> None:
        self.env_fns = env_fns
        self.shared_memory = shared_memory
        self.copy = copy
        self.observation_mode = observation_mode
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.max_concurrency = _require_concurrency(max_concurrency)
        self.num_envs = len(env_fns)
        env = env_fns[0]()  # made only for this
        self._describe(env, lambda: [make().observation_space for make in env_fns])
        env.close()
        self._context: Any = multiprocessing.get_context(context)
        memory = self._allocate()
        self._workers = WorkerProcesses(self._context, type(self).__name__)
        self.parent_pipes = self._workers.pipes
        self.processes = self._workers.processes
        self._state = AsyncState.DEFAULT
        expected = self.single_observation_space, self.single_action_space
        try:
            self._workers.start(env_fns, memory, self.autoreset_mode, self.max_concurrency, daemon)
            self._ask(("check_spaces", (self.observation_mode, expected)))
        except BaseException:
            self.close(terminate=True)
            raise

    def _allocate(self) -> Any:
        """Makes room for the observations; returns the shared memory for them, or None."""
        space = self.single_observation_space
        if not self.shared_memory:
            self.observations = utils.create_empty_array(space, self.num_envs)
            return None
        try:
            memory = utils.create_shared_memory(space, self.num_envs, self._context)
        except error.CustomSpaceError as exc:
            raise ValueError(f"{space} needs shared_memory=False") from exc
        self.observations = utils.read_from_shared_memory(space, memory, self.num_envs)
        return memory

    def reset(self, *, seed: Seeds = None, options: Options = None) -> tuple[ObsType, Info]:
        """Resets every sub-environment, or those that a mask selects; see `SyncVectorEnv.reset`."""
        self.reset_async(seed=seed, options=options)
        return self.reset_wait()

    def reset_async(self, seed: Seeds = None, options: Options = None) -> None:
        """Sends the seeds and options of a reset."""
        self._require_idle("reset_async")
        seeds = spread_seed(seed, self.num_envs)
        mask = pop_reset_mask(options, self.num_envs)
        commands: list[Command] = [
            ("reset", (each, options)) if chosen else ("keep", ())
            for each, chosen in zip(seeds, mask, strict=True)
        ]
        self._send(AsyncState.WAITING_RESET, commands)

    def reset_wait(self, timeout: float | None = None) -> tuple[ObsType, Info]:
        """Collects the results of a reset.

        Raises:
            NoAsyncCallError: `reset_async` was not called.
            multiprocessing.TimeoutError: It takes longer than ``timeout`` seconds; wait again.
        """
        results = self._receive(AsyncState.WAITING_RESET, timeout)
        observations, each = zip(*results, strict=True)
        return self._observe(observations), self._gather(each)

    def step(self, actions: ActType) -> ArraysStep[ObsType]:
        """Steps every sub-environment; see `SyncVectorEnv.step`."""
        self.step_async(actions)
        return self.step_wait()

    def step_async(self, actions: ActType) -> None:
        """Sends the actions of a step."""
        self._require_idle("step_async")
        split = utils.iterate(self.action_space, cast("Any", actions))
        commands: list[Command] = [("step", (action,)) for action in split]
        self._send(AsyncState.WAITING_STEP, commands)

    def step_wait(self, timeout: float | None = None) -> ArraysStep[ObsType]:
        """Collects the results of a step; raises as `reset_wait` does."""
        results = self._receive(AsyncState.WAITING_STEP, timeout)
        observations, rewards, terminations, truncations, each = zip(*results, strict=True)
        return (
            self._observe(observations),
            np.array(rewards, dtype=np.float64),
            np.array(terminations, dtype=np.bool_),
            np.array(truncations, dtype=np.bool_),
            self._gather(each),
        )

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Calls a method of every sub-environment, or reads an attribute; returns the results."""
        self.call_async(name, *args, **kwargs)
        return self.call_wait()

    def call_async(self, name: str, /, *args: Any, **kwargs: Any) -> None:
        """Sends a call."""
        self._require_idle("call_async")
        self._send(AsyncState.WAITING_CALL, [("call", (name, args, kwargs))] * self.num_envs)

    def call_wait(self, timeout: float | None = None) -> tuple[Any, ...]:
        """Collects the results of a call; raises as `reset_wait` does."""
        return tuple(self._receive(AsyncState.WAITING_CALL, timeout))

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Returns an attribute of every sub-environment (or the result, if it is a method)."""
        return self.call(name)

    def set_attr(self, name: str, values: list[Any] | tuple[Any, ...] | Any) -> None:
        """Sets an attribute of every sub-environment; see `SyncVectorEnv.set_attr`."""
        self._require_idle("set_attr")
        self._ask(*[("set_attr", (name, value)) for value in self._spread(name, values)])

    def render(self) -> tuple[RenderFrame, ...] | None:
        """Returns the frames of all sub-environments."""
        return self.call("render")

    def close_extras(
        self, timeout: float | None = None, terminate: bool = False, **kwargs: Any
    ) -> None:
        """Ends the processes.

        Args:
            timeout: How long to wait for a pending call, in seconds; then they are terminated.
            terminate: Whether to terminate them at once.
            **kwargs: Ignored.
        """
        del kwargs
        if self._state is not AsyncState.DEFAULT:
            logger.warn(f"`close` while a call to `{self._state.value}` is pending")
            terminate = terminate or not self._workers.discard_answers(timeout)
            self._state = AsyncState.DEFAULT
        if terminate:
            self._workers.terminate()
        else:
            self._ask(("close", ()))
        self._workers.join()

    def __del__(self) -> None:
        if not self.closed and hasattr(self, "_state"):
            self.close(terminate=True)

    def _require_idle(self, what: str) -> None:
        if self.closed:
            raise error.ClosedEnvironmentError(f"`{what}` after `close`")
        if self._state is not AsyncState.DEFAULT:
            pending = self._state.value
            raise error.AlreadyPendingCallError(
                f"Call `{pending}_wait` before `{what}`: a call to `{pending}` is pending", pending
            )

    def _send(self, state: AsyncState, commands: Iterable[Command]) -> None:
        with self._closing_if_a_process_ended():
            self._workers.send(commands)
        self._state = state

    def _receive(self, state: AsyncState, timeout: float | None = None) -> list[Any]:
        """The result of every process."""
        if self.closed:
            raise error.ClosedEnvironmentError(f"`{state.value}_wait` after `close`")
        if self._state is not state:
            raise error.NoAsyncCallError(
                f"Call `{state.value}_async` before `{state.value}_wait`", state.value
            )
        if not self._workers.wait(timeout):
            raise multiprocessing.TimeoutError(
                f"`{state.value}` takes longer than {timeout} s; wait again, or close"
            )
        self._state = AsyncState.DEFAULT
        return self._collect()

    def _ask(self, *commands: Command) -> list[Any]:
        """Sends a command each, or one to all, and returns the results."""
        each = commands if len(commands) > 1 else commands * self.num_envs
        self._send(AsyncState.DEFAULT, each)
        return self._collect()

    def _collect(self) -> list[Any]:
        with self._closing_if_a_process_ended():
            return self._workers.collect()

    @contextmanager
    def _closing_if_a_process_ended(self) -> Generator[None]:
        try:
            yield
        except WorkerExitedError:
            self.close(terminate=True)
            raise

    def _observe(self, observations: tuple[Any, ...]) -> ObsType:
        if not self.shared_memory:
            self.observations = utils.concatenate(
                self.single_observation_space, observations, self.observations
            )
        return self._show(self.observations)

    def _gather(self, each: Iterable[dict[str, Any]]) -> dict[str, Any]:
        infos: dict[str, Any] = {}
        for index, info in enumerate(each):
            infos = self._add_info(infos, info, index)
        return infos


def _require_concurrency(max_concurrency: int | None) -> int | None:
    """Returns the number of processes that may work at once; ``None`` for all.

    Raises:
        ValueError: The number is not a positive integer.
    """
    if max_concurrency is None:
        return None
    if is_integer(max_concurrency) and max_concurrency >= 1:
        return int(max_concurrency)
    raise ValueError(f"max_concurrency must be a positive integer or None, got {max_concurrency!r}")
