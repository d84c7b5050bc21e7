"""The remote environment of asyncio clients."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from envwire.client._env.env_info import EnvInfo
from envwire.client._recovery.async_handle import AsyncSessionHandle
from envwire.client._recovery.making import SessionMaker, SessionPlan
from envwire.client._recovery.strategies import STRATEGIES
from envwire.client._session.attribute_operations import (
    CallMethod,
    GetAttribute,
    HasAttribute,
    SetAttribute,
)
from envwire.client._session.notices import Notice
from envwire.client._session.operations import Render, Reset, Step
from envwire.client._session.requests import WrapperLike, make_request
from envwire.client._session.stats import ConnectionStats
from envwire.client._transports.servers import Servers, Targets
from envwire.client._transports.transport import Transport
from envwire.client.credentials import Credentials
from envwire.client.errors import RemoteError
from envwire.client.options import ConnectionOptions
from envwire.codec import decode_env_spec, envwire_family

if TYPE_CHECKING:
    from typing_extensions import Self


class AsyncRemoteEnv(EnvInfo):
    """An environment on a server, for programs with an event loop: the Env API, each call awaited.

    Many of them live in one event loop; each serves one request at a time. A call that is cancelled leaves the
    environment usable: its request is finished before the next one. `reset()` after `close()`, or after the session was
    lost, makes the environment again. The generator is not mirrored, and nothing is shown to a person.

        async with RemoteEnv("localhost:50051", "CartPole-v1") as env:
            observation, info = await env.reset(seed=42)

    Args:
        target: As for `envwire.client.RemoteEnv`.
        env_id: Id of the environment.
        render_mode: Render mode, fixed from now on; not "human".
        wrappers: As for `envwire.client.RemoteEnv`.
        transport: "direct" (the default), "direct-tcp", "direct-unix" or "stream"; any other is used in threads.
        library: As for `envwire.client.RemoteEnv`.
        timeout: Seconds to wait for an answer; by default a little more than the server allows the environment.
        connect_timeout: Seconds to wait for a server, also for one that is about to start. By default 10 for one that
            is silent, and none where nothing listens.
        credentials: Certificates and token; by default those that environment variables name.
        lease: Seconds that the environment outlives this program; by default the server's.
        on_lost: "raise", "truncate" or "replay", as for `envwire.client.RemoteEnv`.
        replay_limit: How many requests "replay" records at most.
        env_kwargs: Keyword arguments of the environment, for names that are taken here.
        kwargs: Further keyword arguments of the environment.
    """

    _family = envwire_family()

    def __init__(
        self,
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
        env_kwargs: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        options = ConnectionOptions(
            transport, timeout, connect_timeout, credentials, lease, on_lost, replay_limit
        )
        every = {**(env_kwargs or {}), **kwargs}
        request = make_request(env_id, render_mode, wrappers, library, self._family, lease, every)
        plan = SessionPlan(request, self._family, timeout)
        maker = SessionMaker(Servers(target, options), plan, watch=False)
        strategy = STRATEGIES[on_lost](options, render_mode)
        self._handle = AsyncSessionHandle(maker, strategy, plan.label)
        self._remake = partial(
            type(self),
            target,
            env_id,
            wrappers=wrappers,
            library=library,
            env_kwargs=every,
            **options.keywords,
        )

    @classmethod
    async def make(cls, target: Targets, env_id: str, **settings: Any) -> Self:
        """Makes an environment; for arguments and errors see the class and `envwire.client.RemoteEnv`."""
        env = cls(target, env_id, **settings)
        await env._make()
        return env

    async def _make(self) -> None:
        made = await self._handle.make()
        self._describe(made)
        if made.HasField("spec"):
            self.spec = decode_env_spec(made.spec, self._family, _entry_point(self._remake))
            self.spec.additional_wrappers = ()  # they are on the server

    async def __aenter__(self) -> Self:
        if self._handle.vacant:
            await self._make()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __await__(self) -> Generator[Any, None, Self]:
        return self.__aenter__().__await__()

    def __str__(self) -> str:
        return str(self._handle)

    @property
    def connection_stats(self) -> ConnectionStats:
        """What this environment's connections and sessions went through since it was first made."""
        return self._handle.stats

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What the server told beside its answers: that it is about to stop, and how many seconds are left."""
        return self._handle.notices

    @property
    def recorded_as(self) -> str:
        """Name of the recording that the server keeps of the present session; empty when it keeps none."""
        return self._handle.recorded_as

    async def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Starts an episode (see `Env.reset`); makes the environment again when it was closed or lost."""
        handle = self._handle
        if handle.vacant:
            await self._make()
        state = None
        if seed is None and handle.strategy.recording is not None:
            state = await handle.run(handle.root(seed))
        result, _ = await handle.serve(Reset(seed, options, state))
        handle.strategy.saw(result[0])
        return result

    async def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Takes a step (see `Env.step`)."""
        handle = self._handle
        try:
            result, _ = await handle.serve(Step(action))
        except RemoteError as error:
            return handle.strategy.ending(error)
        handle.strategy.saw(result[0])
        return result

    async def render(self) -> Any:
        """Returns a frame of the present state (see `Env.render`)."""
        return await self._handle.serve(Render())

    async def has_wrapper_attr(self, name: str) -> bool:
        """Returns whether any layer on the server has the attribute."""
        return await self._handle.serve(HasAttribute(name))

    async def get_wrapper_attr(self, name: str) -> Any:
        """Returns an attribute of the outermost layer on the server that has it.

        A method comes as a coroutine function that calls it there. What has no wire form comes as an `Opaque`.

        Raises:
            AttributeError: No layer has it.
        """
        value, method = await self._handle.serve(GetAttribute(name))
        return partial(self._call_method, name) if method else value

    async def _call_method(self, name: str, /, *args: Any, **kwargs: Any) -> Any:
        return await self._handle.serve(CallMethod(name, args, kwargs))

    async def set_wrapper_attr(self, name: str, value: Any, *, force: bool = True) -> bool:
        """Sets an attribute of the outermost layer on the server that has it; returns whether it was set."""
        return await self._handle.serve(SetAttribute(name, value, force))

    async def close(self) -> None:
        """Closes the environment on the server and the connection to it. Closing twice is harmless."""
        await self._handle.close()


def _entry_point(remake: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function, which `make` asks for no metadata; it would ask a class."""

    def make_remote(**kwargs: Any) -> Any:
        return remake(**kwargs)

    return make_remote
