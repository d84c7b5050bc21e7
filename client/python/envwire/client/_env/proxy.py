"""The remote environment: the Env API over a session, shared by the classes of envwire and Gymnasium."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from envwire.client._drivers.coroutines import run
from envwire.client._env.attributes import RemoteAttributes
from envwire.client._env.episodes import MirroredRandom, call, mirrored_step, reset, step_many
from envwire.client._env.saving import SavedState, catch_up, fork, restore, save
from envwire.client._env.step_line import Steps
from envwire.client._recovery.session_handle import SessionHandle
from envwire.client._recovery.session_maker import SessionMaker
from envwire.client._recovery.strategies import STRATEGIES
from envwire.client._session.operations import Render, Step
from envwire.client._session.requests import WrapperLike, listed, make_request, merged
from envwire.client._transports.servers import Servers, Targets
from envwire.client._transports.transport import Transport
from envwire.client.credentials import Credentials
from envwire.client.errors import RemoteError
from envwire.client.options import ConnectionOptions, ProxyArguments
from envwire.envs.wrappers.human import Display, Pacer, default_display

if TYPE_CHECKING:
    from typing_extensions import Self


HUMAN = "human"
#: Render mode of the environment on the server, which has no display.
RENDERED = "rgb_array"
_DEFAULT_FPS = 30.0


class Viewer:
    """Displays frames at the rate that an environment's metadata gives.

    Args:
        metadata: The metadata; without "render_fps", the rate is 30 frames per second.

    Attributes:
        display: The display; by default a window, or the terminal if no window can be opened.
    """

    def __init__(self, metadata: Mapping[str, Any]) -> None:
        self.display: Display | None = None
        self._pacer = Pacer(float(metadata.get("render_fps") or _DEFAULT_FPS))

    def show(self, frame: Any) -> None:
        """Displays a frame, uint8 of shape (height, width, 3).

        Raises:
            TypeError: The frame is not such an array.
        """
        if getattr(frame, "ndim", 0) != 3:
            raise TypeError(
                f"the environment rendered {type(frame).__name__} instead of an array of shape (height, width, 3), "
                f"which render_mode='human' needs. Make it with another render_mode"
            )
        if self.display is None:
            self.display = default_display()
        self._pacer.wait()
        self.display.show(frame)

    def close(self) -> None:
        """Closes the display; the next frame opens it again."""
        display, self.display = self.display, None
        if display is not None:
            display.close()


class RemoteProxy(RemoteAttributes):
    """An environment on a server, with the Env API.

    The constructor connects and makes the environment. `step`, `reset` and `render` return and raise what the local
    environment would: the same values, types, exceptions and warnings. `close()` may be called twice. `reset()` after
    `close()`, or after the session was lost, makes the environment again. After a fork of this program, the child's
    first `reset()` makes a new environment.

    Args:
        target: HOST:PORT of the server, any name that gRPC resolves, or a list of these: the first server that answers
            and has capacity is used. Ignored by an in-process transport.
        env_id: Id of the environment.
        render_mode: Render mode for the life of the proxy. "human" opens a window on the client.
        wrappers: Wrappers to apply on the server, innermost first: names, or (name, keyword arguments).
        transport: "direct" (the default), "stream", "unary", or a `Transport`. "direct" falls back to a stream if no
            direct channel can be opened; "direct-tcp" and "direct-unix" do not.
        library: Library of the id, "envwire" or "gymnasium"; by default that of this class, then any other.
        timeout: Seconds to wait for an answer; by default slightly longer than the server's step timeout.
        connect_timeout: Seconds to wait for a server, even one that has not started yet. By default 10 for a server
            that does not answer, and none if connections are refused.
        credentials: Certificates and token; by default from the ENVWIRE_* environment variables.
        lease: Seconds that the environment outlives this program; by default the server's.
        on_lost: Recovery when the session is lost. "raise" (the default): raise an error. "truncate": the step that
            detects the loss ends the episode, with `info["lost"]`. "replay": make the environment again and repeat the
            recorded requests; an error is raised if the answers differ.
        replay_limit: Most requests that "replay" records since the last reset with a seed.
        device: Device on which arrays stay, "cuda:0" or "host", if the server is on this machine (see docs/device.md).
            The arrays of the environment then arrive as those of its own library, torch, JAX or CuPy.
        arrays: The library to which all arrays belong instead: "torch", "jax", "cupy" or "numpy".
        copy: False gives arrays that are valid until the next call only, and saves a copy on the device.
        liveness: Seconds without a sign of life after which a direct channel over TCP is replaced, such as 5 where
            addresses change; by default 30.
        compression: "auto" (the default): direct channels to another machine carry large arrays compressed where they
            then arrive sooner, if both sides have a library for it (see docs/wide-area.md); "zstd": wherever they
            become smaller, on this machine too; "off": never.
        direct_port: The server's `--direct-port`, if the server is elsewhere: this program's first environment is made
            there as well, in two round trips instead of four to six.
        env_kwargs: Keyword arguments of the environment whose names are parameters of this constructor.
        kwargs: Further keyword arguments of the environment.

    Raises:
        ServerUnavailableError: No server answers at `target`.
        NotAllowedError: The operator did not allow the id, a keyword argument or a wrapper.
        CapacityError: All sessions of the server are taken.
        Exception: Any exception of the environment while it is made, and the error for an id that is not served.
    """

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
        wrappers = listed(wrappers)
        kwargs = merged(env_kwargs, kwargs)
        options = ConnectionOptions.among(locals())
        self._random = MirroredRandom(self._family)
        self._viewer: Viewer | None = None
        self._arguments = ProxyArguments(
            type(self), target, env_id, render_mode, wrappers, library, kwargs, options
        )
        self._used = False
        served_mode = RENDERED if render_mode == HUMAN else render_mode
        request = make_request(env_id, served_mode, wrappers, library, self._family, lease, kwargs)
        maker = SessionMaker(Servers(target, options), request, self._family)
        self._handle = SessionHandle(maker, STRATEGIES[on_lost](options, render_mode), maker.label)
        self._describe(self._handle.make())
        if render_mode == HUMAN:
            self._watch()

    def __repr__(self) -> str:
        """Returns its class, id and server; notebooks show this."""
        arguments, handle = (vars(self).get(name) for name in ("_arguments", "_handle"))
        if arguments is None:  # its constructor failed
            return object.__repr__(self)
        where = "without a session" if handle is None or handle.vacant else f"at {handle.target}"
        return f"<{type(self).__name__}<{arguments.env_id}> {where}>"

    def _watch(self) -> None:
        """Sets up render mode "human": the server renders arrays, and a viewer displays them here."""
        self.render_mode = HUMAN
        modes: list[Any] = list(self.metadata.get("render_modes") or ())
        if HUMAN not in modes:
            self.metadata["render_modes"] = [*modes, HUMAN]
        if self.spec is not None:
            self.spec.kwargs["render_mode"] = HUMAN
        self._viewer = Viewer(self.metadata)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Starts an episode (see `Env.reset`); makes the environment again when it was closed or lost."""
        handle, self._used = self._handle, True
        self._drop_steps()
        if handle.vacant:
            handle.make()
            self._random = MirroredRandom(self._family)
        result, spaces = run(reset(handle, self._random, seed, options))
        self._follow(spaces)
        if self._viewer is not None:
            self._viewer.show(self._frame())
        return result

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Takes a step (see `Env.step`)."""
        # Local variables, because each attribute of a class with `__getattr__` takes 500 instructions more to read.
        handle, random = self._handle, self._random
        try:
            result = (
                run(mirrored_step(handle, random, action))
                if random.active
                else handle.serve(Step(action))[0]
            )
        except RemoteError as error:
            return handle.strategy.final_step(error)
        if handle.strategy.observes:
            handle.strategy.observe(result[0])
        if self._viewer is not None:
            self._viewer.show(self._frame())
        return result

    def step_many(
        self, actions: Iterable[Any]
    ) -> list[tuple[Any, Any, bool, bool, dict[str, Any]]]:
        """Takes one step per action until the episode ends, in one request if possible.

        Args:
            actions: The actions, for example of a policy that plans several steps.

        Returns:
            The result of each step; fewer than actions if the episode ended.

        Raises:
            Exception: As for `step`; `steps_taken` of the exception holds the results of the steps before it.
        """
        return run(step_many(self._handle, list(actions), self._step_alone, self._steps_apart))

    def step_ahead(self, actions: Iterable[Any]) -> Steps:
        """Takes one step per action until the episode ends, and gives each result as soon as it has come.

        The steps are sent at once, as many as may be in flight (up to 64), and are taken while this program does
        something else. Another call may follow before the first is used up: its steps follow those of the first. They
        are not taken, and it gives no results, if the episode ends before, or a step fails. Any other call of the
        environment waits for the steps that were sent; `reset` and `restore_state` drop the others.

        Args:
            actions: The actions, for example of a policy that plans several steps.

        Returns:
            An iterator over the results, fewer than actions if the episode ended. It raises as `step` does.
        """
        return Steps(self._line_up(actions, self._step_alone))

    @property
    def _steps_apart(self) -> bool:
        """Whether each step needs its own request and answer."""
        return self._viewer is not None or super()._steps_apart

    async def _step_alone(self, action: Any) -> Any:
        return self.step(action)

    def render(self) -> Any:
        """Returns a frame of the current state (see `Env.render`); None in mode "human", which displays each frame."""
        return self._frame() if self._viewer is None else None

    def _frame(self) -> Any:
        return run(call(self._handle, self._random, Render()))

    def close(self) -> None:
        """Closes the environment on the server and the connection to it. Closing twice is harmless."""
        if self._viewer is not None:
            self._viewer.close()
        self._handle.close()

    @property
    def unwrapped(self) -> Any:
        """This proxy: the environment's wrappers are on the server."""
        return self

    def save_state(self) -> SavedState:
        """Saves the state of the environment, so that `restore_state` can return to it.

        The environment needs methods for it (see docs/reliability.md), or has to be recorded for `on_lost="replay"`.
        The state of objects in this program, such as the generator of `action_space`, is not saved.

        Raises:
            InvalidRequestError: The environment cannot save its state.
        """
        return run(save(self._handle, self._random, self._new_spaces))

    def restore_state(self, state: SavedState) -> None:
        """Restores a state that `save_state` returned.

        Raises:
            InvalidRequestError: It belongs to another environment, or the server has dropped it.
        """
        self._used = True
        self._drop_steps()
        run(restore(self._handle, self._random, state))
        self._follow(state.spaces)

    def fork(self) -> Self:
        """Returns a second, independent environment in the same state.

        The server forks the environment's process. If it cannot, the environment has to be recorded for
        `on_lost="replay"`.

        Raises:
            InvalidRequestError: The process cannot be forked.
            CapacityError: All sessions of the server are taken.
        """
        handle = self._handle.copy()
        if not run(fork(self._handle, handle)):
            run(catch_up(handle))
        clone = self._clone(handle)
        clone._viewer = None if self._viewer is None else Viewer(clone.metadata)
        return clone

    def __reduce__(self) -> Any:
        """Pickles the constructor's arguments, as long as the environment was not reset.

        Raises:
            TypeError: It was reset already: its state is on the server.
        """
        if not self._used and not self._random.active:
            return ProxyArguments.make, (self._arguments,)
        raise TypeError(
            f"{self} cannot be copied or pickled after its first reset: its state is on the server. env.fork() returns "
            "another environment in the same state, and env.save_state() keeps a state to return to. To send it to "
            "another process, pickle it before, or pickle a function that makes it"
        )
