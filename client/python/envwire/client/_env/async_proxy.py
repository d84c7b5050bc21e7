"""The remote environment of asyncio clients."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from envwire.client._env.attributes import EnvAttributes, defines
from envwire.client._env.call_guard import AsyncSteps, CallGuard
from envwire.client._env.episodes import (
    MirroredRandom,
    call,
    generator,
    mirrored_step,
    reset,
    step_many,
)
from envwire.client._env.saving import SavedState, catch_up, fork, restore, save
from envwire.client._recovery.async_handle import AsyncSessionHandle
from envwire.client._recovery.session_maker import SessionMaker
from envwire.client._recovery.strategies import STRATEGIES
from envwire.client._session.attribute_operations import (
    CallMethod,
    GetAttribute,
    HasAttribute,
    SetAttribute,
)
from envwire.client._session.operations import Operation, Render, Step
from envwire.client._session.requests import WrapperLike, listed, make_request, merged
from envwire.client._transports.servers import Servers, Targets
from envwire.client._transports.transport import Transport
from envwire.client.credentials import Credentials
from envwire.client.errors import RemoteError
from envwire.client.options import ConnectionOptions, ProxyArguments
from envwire.codec import envwire_family
from envwire.codec.steps import StepResult

if TYPE_CHECKING:
    from typing_extensions import Self

_T = TypeVar("_T")


class AsyncRemoteEnv(EnvAttributes[AsyncSessionHandle]):
    """An environment on a server, for asyncio programs: the Env API, with coroutines as methods.

    One event loop can run many of them. Each serves one call at a time; a second one raises AlreadyPendingCallError. A
    cancelled call leaves the environment usable: its request is completed before the next one. `reset()` after
    `close()`, or after the session was lost, makes the environment again. There is no render mode "human".

        async with RemoteEnv("localhost:50051", "CartPole-v1") as env:
            observation, info = await env.reset(seed=42)

    Args:
        target: As for `envwire.client.RemoteEnv`.
        env_id: Id of the environment.
        render_mode: Render mode for the life of the proxy; not "human".
        wrappers: As for `envwire.client.RemoteEnv`.
        transport: "direct" (the default), "direct-tcp", "direct-unix" or "stream"; any other is used in threads.
        library: As for `envwire.client.RemoteEnv`.
        timeout: Seconds to wait for an answer; by default slightly longer than the server's step timeout.
        connect_timeout: Seconds to wait for a server, even one that has not started yet. By default 10 for a server
            that does not answer, and none if connections are refused.
        credentials: Certificates and token; by default from the ENVWIRE_* environment variables.
        lease: Seconds that the environment outlives this program; by default the server's.
        on_lost: "raise", "truncate" or "replay", as for `envwire.client.RemoteEnv`.
        replay_limit: Most requests that "replay" records since the last reset with a seed.
        device: As for `envwire.client.RemoteEnv`, as are the next two.
        arrays: The library of the arrays on the device.
        copy: Whether arrays are copied there.
        liveness: As for `envwire.client.RemoteEnv`.
        compression: As for `envwire.client.RemoteEnv`.
        direct_port: As for `envwire.client.RemoteEnv`.
        env_kwargs: Keyword arguments of the environment whose names are parameters of this constructor.
        kwargs: Further keyword arguments of the environment.
    """

    _family = envwire_family()

    def __init__(
        self,
        /,
        target: Targets,
        env_id: str,
        *,
        render_mode: str | None = None,
        wrappers: Iterable[WrapperLike] = (),
        transport: str | Transport | None = None,
        library: str | None = None,
        timeout: float | None = None,
        connect_timeout: float | None = None,
        credentials: Credentials | None = None,
        lease: float | None = None,
        on_lost: str = "raise",
        replay_limit: int = 100_000,
        device: str | None = None,
        arrays: str | None = None,
        copy: bool = True,
        liveness: float | None = None,
        compression: str = "auto",
        direct_port: int | None = None,
        env_kwargs: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        options = ConnectionOptions.among(locals())
        wrappers, every = listed(wrappers), merged(env_kwargs, kwargs)
        request = make_request(env_id, render_mode, wrappers, library, self._family, lease, every)
        maker = SessionMaker(Servers(target, options), request, self._family, watch=False)
        strategy = STRATEGIES[on_lost](options, render_mode)
        self._handle = AsyncSessionHandle(maker, strategy, maker.label)
        self._random = MirroredRandom(self._family)
        self._guard = CallGuard(self._family, self.__repr__)
        self._arguments = ProxyArguments(
            type(self), target, env_id, render_mode, wrappers, library, every, options
        )

    @classmethod
    async def make(cls, /, target: Targets, env_id: str, **settings: Any) -> Self:
        """Makes an environment; for arguments and errors see the class and `envwire.client.RemoteEnv`."""
        env = cls(target, env_id, **settings)
        return await env

    async def _make(self) -> None:
        made = await self._handle.make_new()
        self._random = MirroredRandom(self._family)
        self._describe(made)

    async def __aenter__(self) -> Self:
        with self._guard:
            if self._handle.vacant:
                await self._make()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __await__(self) -> Generator[Any, None, Self]:
        return self.__aenter__().__await__()

    def __repr__(self) -> str:
        return str(self._handle)

    async def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Starts an episode (see `Env.reset`); makes the environment again when it was closed or lost."""
        with self._guard:
            self._drop_steps()
            if self._handle.vacant:
                await self._make()
            result, spaces = await reset(self._handle, self._random, seed, options)
            self._follow(spaces)
            return result

    async def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Takes a step (see `Env.step`)."""
        with self._guard:
            return await self._step(action)

    async def _step(self, action: Any) -> StepResult:
        handle, random = self._handle, self._random
        try:
            if random.active:
                result = await mirrored_step(handle, random, action)
            else:
                result = (await handle.serve(Step(action)))[0]
        except RemoteError as error:
            return handle.strategy.final_step(error)
        if handle.strategy.observes:
            handle.strategy.observe(result[0])
        return result

    async def step_many(self, actions: Iterable[Any]) -> list[StepResult]:
        """Takes one step per action until the episode ends (see `envwire.client.RemoteEnv.step_many`)."""
        with self._guard:
            return await step_many(self._handle, list(actions), self._step, self._steps_apart)

    def step_ahead(self, actions: Iterable[Any]) -> AsyncSteps:
        """Sends one step per action, and returns an asynchronous iterator over the results.

        See `envwire.client.RemoteEnv.step_ahead`. It can be called while another task waits for a result.
        """
        return AsyncSteps(self._line_up(actions, self._step), self._guard)

    async def render(self) -> Any:
        """Returns a frame of the current state (see `Env.render`)."""
        return await self._call(Render())

    async def _serve(self, operation: Operation[_T]) -> _T:
        with self._guard:
            return await self._handle.serve(operation)

    async def _call(self, operation: Operation[_T]) -> _T:
        with self._guard:
            return await call(self._handle, self._random, operation)

    async def get_np_random(self) -> np.random.Generator:
        """Returns the environment's generator, mirrored from now on: both sides draw from one sequence of numbers.

        Raises:
            InvalidRequestError: The environment has no NumPy generator.
        """
        with self._guard:
            found: np.random.Generator = await generator(self._handle, self._random, str(self))
            return found

    def set_np_random(self, value: np.random.Generator) -> None:
        """Replaces the environment's generator; the new one is sent with the next call."""
        self._random.replace(value)

    async def has_wrapper_attr(self, name: str) -> bool:
        """Returns whether any layer on the server has the attribute."""
        return await self._serve(HasAttribute(name))

    async def get_wrapper_attr(self, name: str) -> Any:
        """Returns an attribute of the outermost layer on the server that has it.

        A method is returned as a coroutine function that calls it on the server, a value that cannot be sent as an
        `Opaque`.

        Raises:
            AttributeError: No layer has it.
        """
        value, method = await self._serve(GetAttribute(name))
        return partial(self._call_method, name) if method else value

    async def _call_method(self, name: str, /, *args: Any, **kwargs: Any) -> Any:
        return await self._call(CallMethod(name, args, kwargs))

    async def set_wrapper_attr(self, name: str, value: Any, *, force: bool = True) -> bool:
        """Sets an attribute of the outermost layer on the server that has it; returns whether it was set."""
        return await self._call(SetAttribute(name, value, force))

    def __setattr__(self, name: str, value: Any) -> None:
        """Sets an attribute that the proxy has; an environment's is set by a coroutine.

        Raises:
            AttributeError: The proxy does not have it.
        """
        if "_arguments" in vars(self) and not defines(self, name):
            raise AttributeError(
                f"{self} has no attribute {name!r}, so nothing was set; `await env.set_wrapper_attr({name!r}, ...)` "
                "sets one of the environment, and a subclass declares its own as class attributes",
                name=name,
                obj=self,
            )
        super().__setattr__(name, value)

    async def save_state(self) -> SavedState:
        """Saves the state of the environment (see `envwire.client.RemoteEnv.save_state`)."""
        with self._guard:
            return await save(self._handle, self._random, self._new_spaces)

    async def restore_state(self, state: SavedState) -> None:
        """Restores a state that `save_state` returned (see `envwire.client.RemoteEnv.restore_state`)."""
        with self._guard:
            self._drop_steps()
            await restore(self._handle, self._random, state)
            self._follow(state.spaces)

    async def fork(self) -> Self:
        """Returns a second environment in the same state (see `envwire.client.RemoteEnv.fork`)."""
        with self._guard:
            handle = self._handle.copy()
            if not await fork(self._handle, handle):
                await catch_up(handle)
            clone = self._clone(handle)
            clone._guard = CallGuard(self._family, clone.__repr__)
            return clone

    async def close(self) -> None:
        """Closes the environment on the server and the connection to it, once the running call has ended.

        Closing twice is harmless.
        """
        await self._guard.wait_free()
        with self._guard:
            await self._handle.close()
