"""The remote vector environment: N environments in sessions on one or many servers, one message a session and step.

Written once; each family of classes adds only its base class.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np

from envwire.client import _lifetime
from envwire.client._credentials import Credentials
from envwire.client._proxy import WrapperLike, make_request
from envwire.client._transport import Transport
from envwire.client._vector_batches import Bounds, Merge, Room, cutter, merger, row_bytes
from envwire.client._vector_infos import Infos, merge_infos, restore_infos
from envwire.client._vector_layout import Capacity, lay_out
from envwire.client._vector_making import Maker, Owner, at_once
from envwire.client._vector_resets import cut_options, cut_seeds
from envwire.client._vector_seats import POLICIES, Seat, StepResult
from envwire.client._vector_session import VectorSession
from envwire.client._vector_waiting import first_finished
from envwire.client._viewer import HUMAN
from envwire.client.errors import (
    InvalidRequestError,
    ServerUnavailableError,
    SessionClosedError,
    SessionError,
    StepTimeoutError,
    UnauthenticatedError,
)
from envwire.codec import Family, decode_env_spec, decode_mapping, decode_space
from envwire.codec.frames import ATTACHED_FROM
from envwire.envs.spaces.narrow import is_tuple_or_list
from envwire.v1 import environment_pb2 as pb

_S = TypeVar("_S")
_T = TypeVar("_T")

NATIVE = "vector_entry_point"
#: What says that there is nothing left to close.
_GONE = (SessionError, ServerUnavailableError, UnauthenticatedError)


class VectorProxy:
    """Environments on servers, seen through the VectorEnv API.

    They behave as a `SyncVectorEnv` of all of them would here. The environments of a session step one after another in
    one process, sessions at the same time. `close()` may be called twice; `reset()` after `close()`, or after a session
    was lost, makes what is missing again. After a fork the child makes environments of its own at its first `reset()`.

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
    # The base classes call these plain attributes; here they follow the environments'.
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
        self.closed = True
        self.num_envs = num_envs
        self._seats: list[Seat] = []
        settings: dict[str, Any] = {
            "sessions": sessions,
            "batch_size": batch_size,
            "autoreset_mode": autoreset_mode,
            "vectorization_mode": vectorization_mode,
            "wrappers": tuple(wrappers),
            "transport": transport,
            "library": library,
            "timeout": timeout,
            "connect_timeout": connect_timeout,
            "credentials": credentials,
            "lease": lease,
            "on_lost": on_lost,
            "env_kwargs": {**(env_kwargs or {}), **kwargs},
        }
        if render_mode == HUMAN:
            raise InvalidRequestError(
                "render_mode='human' shows one environment; give a vector environment 'rgb_array'"
            )
        if on_lost not in POLICIES:
            raise ValueError(f"on_lost={on_lost!r} is not one of {', '.join(POLICIES)}")
        request = make_request(
            env_id,
            render_mode,
            settings["wrappers"],
            library,
            self._family,
            lease,
            settings["env_kwargs"],
        )
        request.vector.vectorization_mode = vectorization_mode or ""
        request.vector.autoreset_mode = _autoreset_name(autoreset_mode, self._family)
        maker = Maker(
            target, transport, connect_timeout, credentials, request, self._family, timeout
        )
        self._native = vectorization_mode == NATIVE
        self._lay_out(maker, sessions, batch_size or num_envs, on_lost == "truncate")
        self._pid = os.getpid()
        try:
            made = at_once(Seat.make, self._seats)
            self._show(made, maker.targets)
        except BaseException:
            self._drop_sessions()
            raise
        finally:
            maker.close()
        self._show_spec(made[0], partial(type(self), target, env_id, **settings))
        self.closed = False

    def _lay_out(self, maker: Maker, sessions: int | None, batch_size: int, truncate: bool) -> None:
        known = sessions is not None
        capacities = [Capacity(1, 0)] * len(maker.targets) if known else maker.look()
        shares = lay_out(self.num_envs, sessions, batch_size, capacities)
        if maker.shared and len(shares) > 1:
            raise ValueError("an open transport takes one session; name a transport for more")
        owner = Owner(self)
        self._seats = [Seat(share, truncate, maker.make, owner) for share in shares]
        self._bounds: Bounds = [(share.start, share.stop) for share in shares]
        self._batch_seats = len(shares) * batch_size // self.num_envs
        self._flying: list[Seat] = []
        self._received: list[Seat] = []
        self._pending = ""

    def _show(self, made: Sequence[pb.MakeResponse], targets: Sequence[str | None]) -> None:
        """Takes over what the first session says of its environments; the others' have to be like them.

        Raises:
            RuntimeError: They have other spaces.
        """
        family, first = self._family, made[0]
        self.metadata = decode_mapping(first.metadata, family)
        self.render_mode = first.render_mode if first.HasField("render_mode") else None
        spaces = _single_spaces(first.vector, family)
        self.single_observation_space, self.single_action_space = spaces
        for seat, other in zip(self._seats[1:], made[1:], strict=True):
            if _single_spaces(other.vector, family) != spaces:
                place = targets[seat.share.place]
                raise RuntimeError(
                    f"the environments on {place} have other spaces than those on {targets[0]}; serve the same "
                    "version on all targets"
                )
        if len(made) == 1:
            self.observation_space = decode_space(first.observation_space, family)
            self.action_space = decode_space(first.action_space, family)
        else:
            batch = family.vector.utils.batch_space
            self.observation_space, self.action_space = (
                batch(space, self.num_envs) for space in spaces
            )
        self._set_rules(first.vector.autoreset_mode)

    def _set_rules(self, autoreset: str) -> None:
        family, space = self._family, self.single_observation_space
        self._merge = merger(space, family)
        self._row_bytes = row_bytes(space, family)
        self._cut = cutter(self.single_action_space, family)
        for seat in self._seats:
            seat.autoreset = autoreset
            seat.split = partial(_split, family, space, seat.share.size)

    def _show_spec(self, made: pb.MakeResponse, remake: Callable[..., Any]) -> None:
        """Shows a specification of which `make_vec` makes this vector environment again."""
        self.spec = None
        if not made.HasField("spec"):
            return
        self.spec = spec = decode_env_spec(made.spec, self._family, remake)
        spec.entry_point = None
        spec.vector_entry_point = partial(_remake, remake)
        spec.additional_wrappers = ()  # they are on the server
        spec.kwargs = {"num_envs": self.num_envs, "vectorization_mode": NATIVE}
        if self.render_mode is not None:
            spec.kwargs["render_mode"] = self.render_mode

    # Resets.

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | Sequence[dict[str, Any] | None] | None = None,
    ) -> tuple[Any, Infos]:
        """Starts an episode in every environment, or in those that a mask chooses.

        Makes again what was closed or lost.

        Args:
            seed: None; a number, from which environment i gets `seed + i`; or one for each.
            options: For every environment, or a list with one dict for each. A "reset_mask", a bool array of shape
                (num_envs,), is taken out of a dict and says which are reset; the others keep their observation.

        Raises:
            ValueError: The number of seeds or options, or the shape of the mask, is not num_envs.
            TypeError: The mask is not a bool array.
        """
        self.reset_async(seed=seed, options=options)
        return self.reset_wait()

    def reset_async(self, *, seed: Any = None, options: Any = None) -> None:
        """Sends a reset; `reset_wait`, or `recv`, returns what it led to. Arguments are those of `reset`."""
        self._expect("", "reset_async")
        seeds = cut_seeds(seed, self.num_envs, self._bounds)
        told = cut_options(options, self.num_envs, self._bounds)
        self._make_missing()
        for seat, own_seed, own in zip(self._seats, seeds, told, strict=True):
            seat.begin_reset(own_seed, own)
        self._flying = list(self._seats)
        self._pending = "reset_async"

    def reset_wait(self) -> tuple[Any, Infos]:
        """Waits for what `reset_async` began, and returns it as `reset` does."""
        self._expect("reset_async", "reset_wait")
        observations, *_, infos = self._finish(self._seats)
        return observations, infos

    def _make_missing(self) -> None:
        if self._pid != os.getpid():
            for seat in self._seats:
                seat.leave()
            self._pid = os.getpid()
        at_once(Seat.make, [seat for seat in self._seats if seat.session is None])
        self.closed = False

    # Steps.

    def step(self, actions: Any) -> StepResult:
        """Steps every environment (see `VectorEnv.step`)."""
        self.step_async(actions)
        return self.step_wait()

    def step_async(self, actions: Any) -> None:
        """Sends actions, one for each environment; `step_wait` returns what they led to."""
        self._expect("", "step_async")
        self._begin(self._seats, self._cut(actions, self.num_envs, self._bounds))
        self._pending = "step_async"

    def step_wait(self) -> StepResult:
        """Waits for what `step_async` began, and returns it as `step` does."""
        self._expect("step_async", "step_wait")
        return self._finish(self._seats)

    def send(self, actions: Any, env_id: Any = None) -> None:
        """Sends actions to some of the environments; `recv` returns what they led to.

        Args:
            actions: One for each of them.
            env_id: Which they are: the environments of whole sessions, as `recv` gave them; by default the last ones.

        Raises:
            ValueError: They are not the environments of whole sessions, or the actions are not as many.
        """
        if self._pending == "step_async":
            self._expect("", "send")
        seats = self._received if env_id is None else self._seats_of(env_id)
        stops = np.cumsum([seat.share.size for seat in seats]).tolist()
        bounds = list(zip([0, *stops], stops, strict=False))
        self._begin(seats, self._cut(actions, stops[-1] if stops else 0, bounds))
        self._pending = "send"

    def recv(self) -> StepResult:
        """Waits for the first `batch_size` environments that finish what was sent to them.

        Returns:
            What `step` returns, for these environments; `infos["env_id"]` says which they are, in order. A reset gives
            rewards and flags of zero.

        Raises:
            NoAsyncCallError: Fewer of them have anything to finish.
        """
        if len(self._flying) < self._batch_seats:
            raise self._family.error.NoAsyncCallError(
                "recv was called while too few environments have anything to do; send actions first",
                "recv",
            )
        self._received = first_finished(self._flying, self._batch_seats)
        result = self._finish(self._received)
        ranges = [np.arange(seat.share.start, seat.share.stop) for seat in self._received]
        result[-1]["env_id"] = np.concatenate(ranges)
        return result

    def _seats_of(self, env_id: Any) -> list[Seat]:
        seats: list[Seat] = []
        left = np.asarray(env_id).tolist()
        starts = {seat.share.start: seat for seat in self._seats}
        while left:
            seat = starts.get(left[0])
            size = seat.share.size if seat is not None else 0
            if seat is None or left[:size] != list(range(seat.share.start, seat.share.stop)):
                raise ValueError(
                    f"env_id {left} does not begin with all environments of a session, in order; give whole sessions, "
                    "as recv gave them"
                )
            seats.append(seat)
            left = left[size:]
        return seats

    def _begin(self, seats: Sequence[Seat], actions: Sequence[Any]) -> None:
        self._check_live()
        if self._flying and any(seat in self._flying for seat in seats):
            self._expect("", "send")
        for seat, own in zip(seats, actions, strict=True):
            seat.begin_step(own)
        self._flying += seats

    def _expect(self, state: str, asked: str) -> None:
        if self._pending == state:
            return
        error = self._family.error
        kind = error.AlreadyPendingCallError if self._pending else error.NoAsyncCallError
        pending = f"{self._pending} is pending" if self._pending else "nothing is pending"
        raise kind(f"{asked} was called while {pending}; call each half once, in turn", asked)

    def _check_live(self) -> None:
        if self.closed:
            raise SessionClosedError(f"{self} is closed; reset() makes the environments again")
        if self._pid != os.getpid():
            raise SessionClosedError(
                f"{self} was made in process {self._pid}, before a fork; reset() makes one for this process"
            )

    def _finish(self, seats: Sequence[Seat]) -> StepResult:
        """Waits for seats, all of them whatever one answers, and returns their batch.

        Raises:
            Exception: The first of what they raised.
        """
        whole = seats is self._seats
        self._flying = [] if whole else [seat for seat in self._flying if seat not in seats]
        self._pending = "send" if self._flying else ""
        merge = self._merge_in_place(seats)
        results, failures = _outcomes(Seat.finish, seats)
        if failures:
            raise failures[0]
        return self._combined(seats, results, merge)

    def _merge_in_place(self, seats: Sequence[Seat]) -> Merge:
        """Returns the rule for observations; large ones are received where they stay."""
        sizes = [seat.share.size for seat in seats]
        if len(sizes) == 1 or self._row_bytes * min(sizes) < ATTACHED_FROM:
            return self._merge
        room = Room(self.single_observation_space, sizes)
        for seat, place in zip(seats, room.places, strict=True):
            seat.offer(place)
        return room.merged

    def _combined(
        self, seats: Sequence[Seat], results: Sequence[StepResult], merge: Merge
    ) -> StepResult:
        if len(results) == 1:
            only = results[0]
            return (*only[:4], self._infos(seats, [only[4]]))
        observations, rewards, terminations, truncations, infos = zip(*results, strict=True)
        return (
            merge(observations),
            np.concatenate(rewards),
            np.concatenate(terminations),
            np.concatenate(truncations),
            self._infos(seats, infos),
        )

    def _infos(self, seats: Sequence[Seat], infos: Sequence[Infos]) -> Any:
        """Returns the infos of some sessions as those of one batch."""
        if not any(infos):
            return {}
        sizes = [seat.share.size for seat in seats]
        if len(sizes) == 1:
            return restore_infos(infos[0], sizes[0])
        starts = [0, *np.cumsum(sizes).tolist()]
        return merge_infos(zip(starts, sizes, infos, strict=False), starts[-1])

    # What else the environments have.

    def render(self) -> Any:
        """Returns a tuple with a frame of each environment."""
        return self._joined(at_once(VectorSession.render, self._live()))

    def call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Calls a method of each environment, or reads an attribute; returns a tuple with one result of each."""
        return self._joined(at_once(partial(_call, name, args, kwargs), self._live()))

    def get_attr(self, name: str) -> Any:
        """Returns a tuple with an attribute of each environment (or the result, if it is a method)."""
        return self.call(name)

    def set_attr(self, name: str, values: Any) -> None:
        """Sets an attribute of each environment: to its element of a list or tuple, or all to one value.

        Raises:
            ValueError: There are not as many values as environments.
        """
        if self._native:
            at_once(lambda session: session.set_attribute(name, values, True), self._live())
            return
        each = list(values) if is_tuple_or_list(values) else [values] * self.num_envs
        if len(each) != self.num_envs:
            raise ValueError(
                f"{len(each)} values of {name!r} for {self.num_envs} environments; give one for each, or one for all"
            )
        own = [each[start:stop] for start, stop in self._bounds]
        pairs = list(zip(self._live(), own, strict=True))
        at_once(lambda pair: pair[0].set_attribute(name, pair[1], True), pairs)

    def call_on(self, indices: Sequence[int], name: str, *args: Any, **kwargs: Any) -> list[Any]:
        """Does as `call`, with some of the environments only; returns their results in the order of `indices`."""
        found: dict[int, Any] = {}
        for seat, session in zip(self._seats, self._live(), strict=True):
            own = [index for index in range(*seat.share[1:]) if index in indices]
            if own:
                members = [index - seat.share.start for index in own]
                found.update(zip(own, _call(name, args, kwargs, session, members), strict=True))
        return [found[index] for index in indices]

    def set_attr_on(self, indices: Sequence[int], name: str, value: Any) -> None:
        """Sets an attribute of some of the environments to one value."""
        for seat, session in zip(self._seats, self._live(), strict=True):
            members = [
                index for index in range(seat.share.size) if index + seat.share.start in indices
            ]
            if members:
                session.set_attribute(name, [value] * len(members), True, members)

    @property
    def np_random(self) -> Any:
        """The generators of the environments as they are now, a tuple; a native vector environment has one.

        They are copies: what is drawn from them here is not drawn there.
        """
        generators = [
            each for one in at_once(VectorSession.get_generators, self._live()) for each in one
        ]
        return generators[0] if self._native and len(generators) == 1 else tuple(generators)

    @property
    def np_random_seed(self) -> Any:
        """The seeds of the environments' generators, a tuple; a native vector environment has one."""
        return self.call("np_random_seed")

    def _live(self) -> list[VectorSession]:
        self._check_live()
        self._expect("", "this")
        sessions = [seat.session for seat in self._seats if seat.session is not None]
        if len(sessions) < len(self._seats):
            raise SessionClosedError(
                f"a session of {self} was lost; reset() makes its environments again"
            )
        return sessions

    def _joined(self, results: Sequence[Any]) -> Any:
        """Joins what sessions returned: one for each environment, or, where it is native, for each session."""
        if self._native:
            return results[0] if len(results) == 1 else tuple(results)
        return tuple(one for result in results for one in result)

    # The end.

    def close_extras(self, **kwargs: Any) -> None:
        """Closes the environments on the servers and the connections to them."""
        del kwargs
        sessions = [seat.session for seat in self._seats if seat.session is not None]
        for seat in self._seats:
            seat.session = None
        self._flying, self._pending = [], ""
        own = [session for session in sessions if session.pid == os.getpid()]
        for session in own:
            _lifetime.forget(session)
        _close_all(own)

    def _drop_sessions(self) -> None:
        for seat in self._seats:
            if seat.session is not None:
                with contextlib.suppress(Exception):
                    seat.session.close()
                seat.leave()

    def __reduce__(self) -> Any:
        raise TypeError(
            f"{self} cannot be copied or pickled: its state is on the server. Pickle a function that makes it"
        )


def _autoreset_name(mode: Any, family: Family) -> str:
    """Returns the name of an autoreset mode that is given by member, name or value; "" for none."""
    if mode is None:
        return ""
    name = getattr(mode, "name", mode)
    if family.AutoresetMode is not None and name not in family.AutoresetMode.__members__:
        name = family.AutoresetMode(mode).name
    return str(name)


def _single_spaces(info: pb.VectorInfo, family: Family) -> tuple[Any, Any]:
    return (
        decode_space(info.single_observation_space, family),
        decode_space(info.single_action_space, family),
    )


def _split(family: Family, space: Any, size: int, observations: Any) -> list[Any]:
    utils = family.vector.utils
    return list(utils.iterate(utils.batch_space(space, size), observations))


def _remake(remake: Callable[..., Any], max_episode_steps: Any = None, **kwargs: Any) -> Any:
    del max_episode_steps  # the server's own specification has it
    return remake(**kwargs)


def _call(
    name: str,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    session: VectorSession,
    members: Sequence[int] = (),
) -> Any:
    value, method = session.get_attribute(name, members)
    return session.call_method(name, args, kwargs, members) if method else value


def _close_all(sessions: Sequence[VectorSession]) -> None:
    """Closes sessions at the same time; one that is gone, or whose server is, is closed already.

    Raises:
        Exception: The first of what the environments raised.
    """
    failures: list[Exception] = []
    begun = list(sessions)
    for half in (VectorSession.begin_close, VectorSession.finish):
        begun, failed = _outcomes(partial(_closing, half), begun)
        failures += failed
    for session in sessions:
        session.drop()
    for error in failures:
        gone = isinstance(error, _GONE) and not isinstance(error, StepTimeoutError)
        if not gone:  # an environment that hung while it closed is news
            raise error


def _closing(half: Callable[[VectorSession], object], session: VectorSession) -> VectorSession:
    half(session)
    return session


def _outcomes(
    function: Callable[[_S], _T], items: Iterable[_S]
) -> tuple[list[_T], list[Exception]]:
    """Calls a function for each item, whatever one raises; returns the results and the exceptions."""
    results: list[_T] = []
    failures: list[Exception] = []
    for item in items:
        try:
            results.append(function(item))
        except Exception as error:  # noqa: PERF203 - the others have to be served all the same
            failures.append(error)
    return results, failures
