"""The remote vector environment: N environments in sessions on one or many servers, one message a session and step.

Written once; each family of classes adds only its base class.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from envwire.client import _lifetime
from envwire.client._credentials import Credentials
from envwire.client._proxy import WrapperLike, make_request
from envwire.client._transport import Transport, call
from envwire.client._transports import open_transport
from envwire.client._vector_batches import Bounds, cutter, merger
from envwire.client._vector_infos import Infos, merge_infos, restore_infos
from envwire.client._vector_layout import Capacity, Share, lay_out
from envwire.client._vector_losses import POLICIES, Losses
from envwire.client._vector_resets import cut_options, cut_seeds
from envwire.client._vector_session import LOST, VectorSession
from envwire.client._viewer import HUMAN
from envwire.client.errors import InvalidRequestError, RemoteError, SessionClosedError, StepTimeoutError
from envwire.codec import Family, decode_env_spec, decode_mapping, decode_space
from envwire.v1 import environment_pb2 as pb

_T = TypeVar("_T")

#: What `VectorEnv.step` returns.
StepResult = tuple[Any, npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], Infos]

NATIVE = "vector_entry_point"
_MOST_THREADS = 16


class VectorProxy:
    """Environments on servers, seen through the VectorEnv API.

    They behave as a `SyncVectorEnv` of all of them would here, and one that was lost is made again by `reset()`. The
    environments of a session step one after another in one process, sessions at the same time.

    Args:
        target: HOST:PORT of the server, or a list of such; environments are spread over them evenly and in order.
        env_id: Id of the environments.
        num_envs: How many.
        sessions: How many sessions; by default one for each processor of the servers.
        batch_size: How many environments `recv` waits for; by default all.
        autoreset_mode: When an environment whose episode ended is reset, a member of `AutoresetMode` or its name; by
            default "NEXT_STEP", or what a native vector environment does.
        vectorization_mode: "sync" (the default), or "vector_entry_point" for environments that step as arrays.
        render_mode: Render mode, fixed from now on; not "human".
        wrappers: Wrappers to put around each on the server, innermost first: (name, keyword arguments).
        transport: Name of a transport, or a `Transport`, which takes one session only.
        library: Library to take the id from; by default this face's own, then any other.
        timeout: Seconds to wait for an answer; by default a little more than the server allows the environments.
        connect_timeout: Seconds to wait for a server to appear.
        credentials: Certificates and token; by default those that environment variables name.
        lease: Seconds that the environments outlive this program; by default the server's.
        on_lost: "raise", or "truncate" to end the episodes of a session that was lost, and go on with the others.
        env_kwargs: Keyword arguments of the environments, for names that are taken here.
        kwargs: Further keyword arguments of the environments.

    Raises:
        ValueError: The numbers of environments, sessions and targets do not go together.
        RemoteError: As `RemoteEnv`.
        Exception: As `RemoteEnv`.
    """

    _family: Family
    num_envs: int
    closed: bool
    spec: Any
    metadata: dict[str, Any]
    render_mode: str | None
    observation_space: Any
    action_space: Any
    single_observation_space: Any
    single_action_space: Any

    def __init__(
        self,
        target: str | Sequence[str] | None,
        env_id: str,
        num_envs: int = 1,
        *,
        sessions: int | None = None,
        batch_size: int | None = None,
        autoreset_mode: Any = None,
        vectorization_mode: str | None = None,
        render_mode: str | None = None,
        wrappers: Iterable[WrapperLike] = (),
        transport: str | Transport | None = None,
        library: str | None = None,
        timeout: float | None = None,
        connect_timeout: float = 10.0,
        credentials: Credentials | None = None,
        lease: float | None = None,
        on_lost: str = "raise",
        env_kwargs: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        if render_mode == HUMAN:
            raise InvalidRequestError(
                "render_mode='human' shows one environment; give a vector environment 'rgb_array'"
            )
        if on_lost not in POLICIES:
            raise ValueError(f"on_lost={on_lost!r} is not one of {', '.join(POLICIES)}")
        self.closed = False
        self.num_envs = num_envs
        self.batch_size = batch_size or num_envs
        self._env_id = env_id
        self._timeout = timeout
        self._native = vectorization_mode == NATIVE
        self._targets: list[str | None] = (
            [target] if isinstance(target, str) or target is None else list(target)
        )
        self._open: Callable[[str | None], Transport] = partial(
            _opened, transport, connect_timeout, credentials
        )
        kwargs = {**(env_kwargs or {}), **kwargs}
        wrappers = tuple(wrappers)
        self._request = make_request(
            env_id, render_mode, wrappers, library, self._family, lease, kwargs
        )
        self._request.vector.vectorization_mode = vectorization_mode or ""
        self._request.vector.autoreset_mode = _autoreset_name(autoreset_mode, self._family)
        remake = partial(
            type(self),
            target,
            env_id,
            sessions=sessions,
            batch_size=batch_size,
            autoreset_mode=autoreset_mode,
            vectorization_mode=vectorization_mode,
            wrappers=wrappers,
            transport=transport,
            library=library,
            timeout=timeout,
            connect_timeout=connect_timeout,
            credentials=credentials,
            lease=lease,
            on_lost=on_lost,
            env_kwargs=kwargs,
        )
        self._start(sessions if not isinstance(transport, Transport) else 1, on_lost, remake)

    def _start(self, sessions: int | None, on_lost: str, remake: Callable[..., Any]) -> None:
        """Lays the environments out, makes them, and takes over what the servers say of them."""
        capacities, self._opened = self._look(sessions)
        self._shares = lay_out(self.num_envs, sessions, self.batch_size, capacities)
        self._bounds: Bounds = [(share.start, share.stop) for share in self._shares]
        self._sessions: list[VectorSession | None] = [None] * len(self._shares)
        self._pid = os.getpid()
        self._asked: dict[int, Callable[[Any], StepResult]] = {}
        self._state = ""
        made = self._make_missing()
        self._show(made[0])
        self._check_alike(made)
        self._show_spec(made[0], remake)
        self._merge = merger(self.single_observation_space, self._family)
        self._cut = cutter(self.single_action_space, self._family)
        self._losses = Losses(on_lost, self.metadata.get("autoreset_mode"), self._family)
        self._received: list[int] = []

    def _look(self, sessions: int | None) -> tuple[list[Capacity], list[Transport | None]]:
        """Returns what the servers say of themselves, and the open transports, when it has to be known."""
        if sessions is not None:
            return [Capacity(1, 0)] * len(self._targets), []
        opened: list[Transport | None] = []
        capacities: list[Capacity] = []
        for target in self._targets:
            transport = self._open(target)
            opened.append(transport)
            request = pb.InteractRequest(get_server_info=pb.GetServerInfoRequest())
            info = call(transport, request, self._timeout or 60.0).get_server_info
            capacities.append(Capacity(max(1, info.cpu_count), info.max_envs_per_session))
        return capacities, opened

    def _transport(self, place: int) -> Transport:
        """Returns a transport to a target: the one that is open already, or another one."""
        opened = self._opened[place] if self._opened else None
        if opened is None:
            return self._open(self._targets[place])
        self._opened[place] = None
        return opened

    def _make_missing(self) -> list[pb.MakeResponse]:
        """Makes the sessions that are not there, at the same time."""
        missing = [place for place, session in enumerate(self._sessions) if session is None]
        transports = [self._transport(self._shares[place].place) for place in missing]
        self._opened = []
        return _at_once([partial(self._make, *each) for each in zip(missing, transports, strict=True)])

    def _make(self, place: int, transport: Transport) -> pb.MakeResponse:
        session = VectorSession(transport, self._family, self._timeout, f"<remote {self._env_id}>")
        request = pb.MakeRequest()
        request.CopyFrom(self._request)
        request.vector.num_envs = self._shares[place].size
        try:
            made = session.make(request)
        except BaseException:
            session.drop()
            raise
        _lifetime.look_after(self, session)
        self._sessions[place] = session
        return made

    def _show(self, made: pb.MakeResponse) -> None:
        """Takes over what the first session says of its environments."""
        family, info = self._family, made.vector
        batch_space = family.vector.utils.batch_space
        self.metadata = decode_mapping(made.metadata, family)
        self.render_mode = made.render_mode if made.HasField("render_mode") else None
        self.single_observation_space = decode_space(info.single_observation_space, family)
        self.single_action_space = decode_space(info.single_action_space, family)
        if len(self._shares) == 1:
            self.observation_space = decode_space(made.observation_space, family)
            self.action_space = decode_space(made.action_space, family)
        else:
            self.observation_space = batch_space(self.single_observation_space, self.num_envs)
            self.action_space = batch_space(self.single_action_space, self.num_envs)

    def _check_alike(self, made: Sequence[pb.MakeResponse]) -> None:
        """Refuses environments that do not go together.

        Raises:
            RuntimeError: Their spaces differ.
        """
        expected = self.single_observation_space, self.single_action_space
        for share, one in zip(self._shares[1:], made[1:], strict=True):
            spaces = one.vector.single_observation_space, one.vector.single_action_space
            if tuple(decode_space(space, self._family) for space in spaces) != expected:
                self._close_sessions()
                raise RuntimeError(
                    f"the environments on {self._targets[share.place]} have other spaces than those on "
                    f"{self._targets[0]}; serve the same version of {self._env_id} on all of them"
                )

    def _show_spec(self, made: pb.MakeResponse, remake: Callable[..., Any]) -> None:
        """Shows a specification of which `make_vec` makes this vector environment again."""
        self.spec = None
        if not made.HasField("spec"):
            return
        self.spec = spec = decode_env_spec(made.spec, self._family, _unvectorised)
        spec.entry_point = None
        spec.vector_entry_point = _vector_entry_point(remake)
        spec.additional_wrappers = ()  # they are on the server
        spec.kwargs = {"num_envs": self.num_envs, "vectorization_mode": NATIVE}
        if self.render_mode is not None:
            spec.kwargs["render_mode"] = self.render_mode

    # One step, in two halves.

    def step(self, actions: Any) -> StepResult:
        """Steps every environment (see `VectorEnv.step`)."""
        self.step_async(actions)
        return self.step_wait()

    def step_async(self, actions: Any) -> None:
        """Sends actions, one for each environment; `step_wait` returns what they led to."""
        self._expect("", "step_async")
        self._begin_steps(range(len(self._shares)), actions, self.num_envs, self._bounds)
        self._state = "step_async"

    def step_wait(self) -> StepResult:
        """Waits for what `step_async` began, and returns it as `step` does."""
        self._expect("step_async", "step_wait")
        return self._combined(range(len(self._shares)))

    def _expect(self, state: str, asked: str) -> None:
        if self._state != state:
            error = self._family.error
            kind = error.AlreadyPendingCallError if self._state else error.NoAsyncCallError
            pending = f"{self._state} is pending" if self._state else "nothing is pending"
            raise kind(f"{asked} was called while {pending}; call each half once, in turn", asked)

    def _begin_steps(
        self, places: Sequence[int], actions: Any, size: int, bounds: Bounds
    ) -> None:
        self._check_process()
        cuts = self._cut(actions, size, bounds)
        for place, cut in zip(places, cuts, strict=True):
            self._begin_step(place, cut)

    def _begin_step(self, place: int, actions: Any) -> None:
        session = self._sessions[place]
        if session is None:
            self._restart(place)
            return
        try:
            session.begin_step(actions)
        except LOST as error:
            self._asked[place] = partial(self._lost, place, error)
        else:
            self._asked[place] = _as_it_is

    def _restart(self, place: int) -> None:
        """Makes a session again whose environments were lost, instead of stepping them."""
        self._losses.check_restart(self)
        self._make(place, self._open(self._targets[self._shares[place].place]))
        self._session(place).begin_reset(None, None)
        self._asked[place] = self._after_reset

    def _check_process(self) -> None:
        if self._pid != os.getpid():
            raise SessionClosedError(
                f"{self} was made in process {self._pid}, before a fork; reset() makes one for this process"
            )
        if self.closed:
            raise SessionClosedError(f"{self} is closed; reset() makes the environments again")

    def _session(self, place: int) -> VectorSession:
        session = self._sessions[place]
        if session is None:
            raise SessionClosedError(
                f"session {place} of {self} was lost; reset() makes its environments again"
            )
        return session

    def _combined(self, places: Sequence[int]) -> StepResult:
        """Waits for sessions, for all of them whatever one answers, and returns their batch."""
        results: list[StepResult] = []
        failure: Exception | None = None
        try:
            for place in places:
                try:
                    results.append(self._finish(place))
                except Exception as error:
                    failure = failure or error
        finally:
            self._state = ""
        if failure is not None:
            raise failure
        return results[0] if len(results) == 1 else self._batch(places, results)

    def _finish(self, place: int) -> StepResult:
        read = self._asked.pop(place)
        session = self._sessions[place]
        if session is None or not session.pending:  # what was lost when it was sent
            return read(None)
        try:
            result = session.finish()
        except LOST as error:
            return self._lost(place, error)
        result = read(result)
        self._losses.remember(place, result)
        return result if len(self._shares) > 1 else _restored(result, self.num_envs)

    def _lost(self, place: int, error: RemoteError, *_: object) -> StepResult:
        """Lets go of a session that is no more, and says what the policy says.

        Raises:
            RemoteError: The policy is to raise.
        """
        self._let_go(place)
        result = self._losses.result(place, self._shares[place].size, error)
        if not self._losses.restarts_at_once:
            return result
        self._restart(place)
        del self._asked[place]
        return self._losses.restarted(result, self._session(place).finish())

    def _after_reset(self, result: Any) -> StepResult:
        """Returns what a step returns that resets environments instead."""
        observations, infos = result
        return (observations, *_nothing_happened(len(infos_mask(observations, self, result))), infos)

    def _batch(self, places: Sequence[int], results: Sequence[StepResult]) -> StepResult:
        observations, rewards, terminations, truncations, infos = zip(*results, strict=True)
        return (
            self._merge(observations),
            np.concatenate(rewards),
            np.concatenate(terminations),
            np.concatenate(truncations),
            self._merged_infos(places, infos),
        )

    def _merged_infos(self, places: Sequence[int], infos: Sequence[Infos]) -> Infos:
        if not any(infos):
            return {}
        sizes = [self._shares[place].size for place in places]
        starts = np.cumsum([0, *sizes]).tolist()
        return merge_infos(zip(starts, sizes, infos, strict=False), starts[-1])
