"""The remote proxy: the Env API over a session. Written once; each family of classes adds only its base class."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np

from envwire.client import _lifetime
from envwire.client._credentials import Credentials
from envwire.client._random import MirroredRandom
from envwire.client._session import RemoteSession
from envwire.client._transport import Transport
from envwire.client._transports import open_transport
from envwire.client._viewer import HUMAN, RENDERED, Viewer
from envwire.client.errors import (
    InvalidRequestError,
    RemoteError,
    ServerUnavailableError,
    SessionClosedError,
    SessionError,
    StepTimeoutError,
    UnauthenticatedError,
)
from envwire.codec import (
    CodecError,
    Family,
    Reason,
    decode_env_spec,
    decode_mapping,
    decode_space,
    decode_value,
    encode_mapping,
)
from envwire.v1 import environment_pb2

#: A wrapper to put around the environment on the server: its name, or "module:Class", and its keyword arguments.
WrapperLike = tuple[str, Mapping[str, Any]]


#: Reasons after which a session is no more.
_ENDS = frozenset(
    reason.value
    for reason in (
        Reason.UNKNOWN_SESSION,
        Reason.SESSION_CLOSED,
        Reason.SESSION_EXPIRED,
        Reason.SESSION_LOST,
        Reason.STEP_TIMEOUT,
        Reason.DRAINING,
    )
)


class RemoteProxy:
    """An environment on a server, seen through the Env API.

    It connects when it is made. A step, a reset, a render behave as the local environment's: same values, same types,
    same exceptions, same warnings. `close()` may be called twice; `reset()` after `close()`, or after the session was
    lost, makes the environment again. After a fork the child makes an environment of its own at its first `reset()`.

    Args:
        target: HOST:PORT of the server, or any name that gRPC resolves. Unused by a transport in process.
        env_id: Id of the environment.
        render_mode: Render mode, fixed from now on. "human" is shown here, from frames of the server.
        wrappers: Wrappers to put around it on the server, innermost first: (name, keyword arguments).
        transport: "stream" (the default), "unary", or a `Transport`.
        library: Library to take the id from, "envwire" or "gymnasium"; by default this face's own, then any other.
        timeout: Seconds to wait for an answer; by default a little more than the server allows the environment.
        connect_timeout: Seconds to wait for the server to appear.
        credentials: Certificates and token; by default those that environment variables name.
        lease: Seconds that the environment outlives this program; by default the server's.
        env_kwargs: Keyword arguments of the environment, for names that are taken here.
        kwargs: Further keyword arguments of the environment.

    Raises:
        ServerUnavailableError: No server answers at `target`.
        NotAllowedError: The server's operator did not list a keyword argument or wrapper.
        CapacityError: All sessions of the server are taken.
        Exception: Whatever the environment raises while it is made, and the error for an id that is not served.
    """

    _family: Family
    # The base classes call these plain attributes; here they follow the environment's.
    spec: Any
    metadata: dict[str, Any]
    render_mode: str | None
    reward_range: Any
    observation_space: Any
    action_space: Any

    def __init__(
        self,
        target: str | None,
        env_id: str,
        *,
        render_mode: str | None = None,
        wrappers: Iterable[WrapperLike] = (),
        transport: str | Transport | None = None,
        library: str | None = None,
        timeout: float | None = None,
        connect_timeout: float = 10.0,
        credentials: Credentials | None = None,
        lease: float | None = None,
        env_kwargs: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        wrappers = tuple(wrappers)
        kwargs = {**(env_kwargs or {}), **kwargs}
        self._session: RemoteSession | None = None
        self._random = MirroredRandom(self._family)
        self._viewer: Viewer | None = None
        self._env_id = env_id
        self._timeout = timeout
        self._open_transport: Callable[[], Transport] = partial(
            open_transport, transport, target, connect_timeout, credentials
        )
        self._make_request = make_request(
            env_id,
            RENDERED if render_mode == HUMAN else render_mode,
            wrappers,
            library,
            self._family,
            lease,
            kwargs,
        )
        made = self._make()
        self._show(made)
        if made.HasField("spec"):
            remake = partial(
                type(self),
                target,
                env_id,
                wrappers=wrappers,
                transport=transport,
                library=library,
                timeout=timeout,
                connect_timeout=connect_timeout,
                credentials=credentials,
                lease=lease,
                env_kwargs=kwargs,
            )
            self.spec = decode_env_spec(made.spec, self._family, _entry_point(remake))
            # They are on the server, where `remake` puts them again. `make` would import them here, by names that the
            # server sent.
            self.spec.additional_wrappers = ()
        if render_mode == HUMAN:
            self._watch()

    def _show(self, made: environment_pb2.MakeResponse) -> None:
        """Takes over what the server says of the environment."""
        family = self._family
        self.observation_space = decode_space(made.observation_space, family)
        self.action_space = decode_space(made.action_space, family)
        self.metadata = decode_mapping(made.metadata, family)
        self.render_mode = made.render_mode if made.HasField("render_mode") else None
        self.reward_range = decode_value(made.reward_range, family)
        self.spec = None

    def _watch(self) -> None:
        """Becomes an environment that a person watches; to the server it renders arrays."""
        self.render_mode = HUMAN
        modes: list[Any] = list(self.metadata.get("render_modes") or ())
        if HUMAN not in modes:
            self.metadata["render_modes"] = [*modes, HUMAN]
        if self.spec is not None:
            self.spec.kwargs["render_mode"] = HUMAN
        self._viewer = Viewer(self.metadata)

    def _make(self) -> environment_pb2.MakeResponse:
        session = RemoteSession(
            self._open_transport(), self._family, self._timeout, f"<remote {self._env_id}>"
        )
        try:
            made = session.make(self._make_request)
        except BaseException:
            session.drop()
            raise
        _lifetime.look_after(self, session)
        self._session = session
        self._random = MirroredRandom(self._family)
        return made

    def _live(self) -> RemoteSession:
        """Returns the session of this process.

        Raises:
            SessionClosedError: There is none; `reset()` makes one.
        """
        session = self._session
        if session is None:
            raise SessionClosedError(
                f"{self} is closed, or its session was lost; reset() makes the environment again"
            )
        if session.pid != os.getpid():
            raise SessionClosedError(
                f"{self} was made in process {session.pid}, before a fork; reset() makes one for this process"
            )
        return session

    def _serve(self, call: Callable[..., Any], *args: Any) -> Any:
        """Calls the session, and lets go of it when it turns out to have ended."""
        try:
            return call(*args)
        except RemoteError as error:
            if error.reason in _ENDS:
                self._let_go()
            raise

    def _let_go(self) -> None:
        session, self._session = self._session, None
        if session is not None and session.pid == os.getpid():
            _lifetime.forget(session)
            session.drop()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Starts an episode (see `Env.reset`); makes the environment again when it was closed or lost."""
        if self._session is None or self._session.pid != os.getpid():
            self._make()
        random = self._random
        if seed is not None:
            random.reseeded()
        result, mirror = self._serve(
            self._live().reset, seed, options, random.changed(), random.active
        )
        if mirror is not None:
            random.absorb(mirror)
        if self._viewer is not None:
            self._viewer.show(self._frame())
        return result  # type: ignore[no-any-return]

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Takes a step (see `Env.step`)."""
        random = self._random
        if not random.active:
            result = self._serve(self._live().step, action, None, False)[0]
        else:
            result, mirror = self._serve(self._live().step, action, random.changed(), True)
            random.absorb(mirror)
        if self._viewer is not None:
            self._viewer.show(self._frame())
        return result  # type: ignore[no-any-return]

    def render(self) -> Any:
        """Returns a frame of the present state (see `Env.render`); None in mode "human", which shows it by itself."""
        return self._frame() if self._viewer is None else None

    def _frame(self) -> Any:
        return self._serve(self._live().render)

    def close(self) -> None:
        """Closes the environment on the server and the connection to it. Closing twice is harmless."""
        if self._viewer is not None:
            self._viewer.close()
        session, self._session = self._session, None
        if session is None:
            return
        _lifetime.forget(session)
        if session.pid == os.getpid():
            _close(session)

    @property
    def unwrapped(self) -> Any:
        """This proxy: the environment's wrappers are on the server."""
        return self

    @property
    def np_random(self) -> np.random.Generator:
        """The environment's generator, mirrored from the first read on."""
        if self._random.generator is None:
            self._random.absorb(self._serve(self._live().get_random, "np_random"))
        if self._random.generator is None:
            raise InvalidRequestError(f"{self._env_id} has no np_random that can be mirrored")
        return self._random.generator

    @np_random.setter
    def np_random(self, value: np.random.Generator) -> None:
        self._random.replace(value)

    @property
    def _np_random(self) -> np.random.Generator | None:
        # Gymnasium's checker reads the generator by this name, and may find that there is none yet.
        if not self._random.active:
            self._random.absorb(self._serve(self._live().get_random, "_np_random"))
        return self._random.generator

    @property
    def np_random_seed(self) -> int | None:
        """The seed of the environment's generator; -1 when the generator was set directly."""
        if self._random.seed is None:
            return self._serve(self._live().get_attribute, "np_random_seed")[0]  # type: ignore[no-any-return]
        return self._random.seed

    def has_wrapper_attr(self, name: str) -> bool:
        """Returns whether this proxy or any layer on the server has the attribute."""
        return hasattr(type(self), name) or bool(self._serve(self._live().has_attribute, name))

    def get_wrapper_attr(self, name: str) -> Any:
        """Returns an attribute of this proxy, else of the outermost layer on the server that has it.

        A method comes as a callable that calls it there. What has no wire form comes as an `Opaque`.

        Raises:
            AttributeError: No layer has it.
        """
        if hasattr(type(self), name) or name in self.__dict__:
            return getattr(self, name)
        value, method = self._serve(self._live().get_attribute, name)
        return partial(self._call_method, name) if method else value

    def _call_method(self, name: str, /, *args: Any, **kwargs: Any) -> Any:
        return self._serve(self._live().call_method, name, args, kwargs)

    def set_wrapper_attr(self, name: str, value: Any, *, force: bool = True) -> bool:
        """Sets an attribute of the outermost layer on the server that has it; returns whether it was set."""
        return bool(self._serve(self._live().set_attribute, name, value, force))

    def __reduce__(self) -> Any:
        raise TypeError(
            f"{self} cannot be copied or pickled: its state is on the server. Pickle a function that makes it"
        )


def _close(session: RemoteSession) -> None:
    """Closes a session; one that is gone, or whose server is or lets nobody in, is closed already."""
    try:
        session.close()
    except StepTimeoutError:
        raise  # the environment hung while it closed: that is news
    except (SessionError, ServerUnavailableError, UnauthenticatedError):
        return


def _entry_point(remake: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function, which `make` asks for no metadata; it would ask a class."""

    def make_remote(**kwargs: Any) -> Any:
        return remake(**kwargs)

    return make_remote


def make_request(
    env_id: str,
    render_mode: str | None,
    wrappers: Iterable[WrapperLike],
    library: str | None,
    family: Family,
    lease: float | None,
    kwargs: Mapping[str, Any],
) -> environment_pb2.MakeRequest:
    """Returns the request for an environment.

    Raises:
        InvalidRequestError: A keyword argument has no wire form.
    """
    request = environment_pb2.MakeRequest(env_id=env_id, render_mode=render_mode)
    request.library = library or ""
    request.prefer = "" if library else family.name
    if lease is not None:
        request.lease.FromNanoseconds(round(lease * 1e9))
    try:
        encode_mapping(kwargs, request.kwargs, "kwargs")
        for name, wrapper_kwargs in wrappers:
            wrapper = request.wrappers.add(name=name)
            encode_mapping(wrapper_kwargs, wrapper.kwargs, name)
    except CodecError as error:
        raise InvalidRequestError(str(error)) from error
    return request
