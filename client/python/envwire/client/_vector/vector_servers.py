"""Makes the sessions of a vector environment, on one or several servers: together, again if they are lost."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from envwire.client._drivers.blocking import BlockingDriver
from envwire.client._drivers.coroutines import at_once
from envwire.client._env.proxy import HUMAN
from envwire.client._errors import not_live, should_report
from envwire.client._recovery.session_handle import SessionHandle
from envwire.client._recovery.session_maker import SessionMaker
from envwire.client._recovery.strategies import SHARD_STRATEGIES
from envwire.client._transports.portability import THIS_PROCESS
from envwire.client._transports.servers import Servers, ServerSearch, Targets
from envwire.client._transports.targets import ConnectWait
from envwire.client._transports.transport import call
from envwire.client._vector.env_info import NATIVE
from envwire.client._vector.layout import Capacity, ShardSpec, lay_out
from envwire.client._vector.shards import EPISODES, S, Shard
from envwire.client.errors import InvalidRequestError, RemoteError
from envwire.client.options import ConnectionOptions
from envwire.codec import Family
from envwire.codec.messages import LONGEST_SECONDS, to_seconds
from envwire.v1 import environment_pb2 as pb

_INFO_SECONDS = 60.0


class VectorServers:
    """The servers of a vector environment, and its shards on them.

    Args:
        targets: HOST:PORT of the server, or of several.
        options: How to connect to them.
        request: The Make of the sessions, without the number of environments.
        family: Classes to build values of.

    Raises:
        InvalidRequestError: The render mode is "human".
    """

    def __init__(
        self, targets: Targets, options: ConnectionOptions, request: pb.MakeRequest, family: Family
    ) -> None:
        self._options = options
        self._servers = Servers(targets, options)
        self._request = request
        self._family = family
        self._render_mode = request.render_mode if request.HasField("render_mode") else None
        if self._render_mode == HUMAN:
            raise InvalidRequestError(
                "render_mode='human' shows one environment; give a vector environment 'rgb_array'"
            )

    def lay_out(
        self, num_envs: int, sessions: int | None, batch_size: int, most: int = 0
    ) -> list[ShardSpec]:
        """Returns the environments of each session (see `envwire.client._vector.layout.lay_out`).

        Args:
            num_envs: Number of environments.
            sessions: Number of sessions; None for the number with which a step of all environments is fastest.
            batch_size: Number of environments in a batch.
            most: Most environments of one session, if the servers said so when it was made; 0 otherwise.

        Raises:
            ValueError: The numbers do not fit together.
            ServerUnavailableError: No server answers.
        """
        if self._options.device is not None:
            sessions = _one_session(sessions, self._options.on_lost)
        known = sessions is not None or self._options.has_open_transport
        assumed = dict.fromkeys(range(len(self._servers.targets)), Capacity(1, 0))
        found = assumed if known else self._capacities()
        if most:
            found = {index: each._replace(envs_per_session=most) for index, each in found.items()}
        specs = lay_out(num_envs, sessions, batch_size, list(found.values()))
        if self._options.has_open_transport and len(specs) > 1:
            raise ValueError(
                "an open transport takes one session; pass the name of a transport for more"
            )
        indices = list(found)
        return [spec._replace(target_index=indices[spec.target_index]) for spec in specs]

    def _capacities(self) -> dict[int, Capacity]:
        """Returns the capacities of the servers that answer, by their index."""
        targets = self._servers.targets
        search = ServerSearch(targets, self._servers.wait())
        while True:
            answers = at_once(partial(self._ask_capacity, search.connect_wait), range(len(targets)))
            found: dict[int, Capacity] = {}
            for index, each in enumerate(answers):
                if isinstance(each, Capacity):
                    found[index] = each
                else:
                    search.add(targets[index], each)
            if found:
                return found
            time.sleep(search.pause())

    def _ask_capacity(self, wait: ConnectWait, index: int) -> Capacity | Exception:
        """Asks a server for its capacity; keeps the transport for its first session."""
        target = self._servers.targets[index]
        try:
            transport = self._servers.open(target, wait)
            self._servers.keep(target, transport)
            question = pb.GetServerInfoRequest(env_id=self._request.env_id, make=self._request)
            request = pb.InteractRequest(get_server_info=question)
            answer = call(
                transport, request, min(self._options.timeout or _INFO_SECONDS, LONGEST_SECONDS)
            )
        except Exception as error:
            return error
        return self.capacity(answer.get_server_info)

    def capacity(self, info: pb.GetServerInfoResponse) -> Capacity:
        """Returns the part of the vector environment that a server can hold.

        One session is enough for environments that step as arrays: many take hardly longer than one.
        """
        native = self._request.vector.vectorization_mode == NATIVE
        processors = 1 if native else max(1, info.cpu_count)
        step_time = to_seconds(info.step_time) if info.HasField("step_time") else None
        return Capacity(processors, info.max_envs_per_session, step_time)

    def shard(self, spec: ShardSpec, label: str, kind: type[S], *, watch: bool = True) -> S:
        """Returns a shard, whose sessions are made on its own server if possible.

        Args:
            spec: Its environments.
            label: Names the vector environment in messages.
            kind: The class of the shard.
            watch: As for `SessionMaker`.
        """
        on_lost = self._options.on_lost
        request = pb.MakeRequest()
        request.CopyFrom(self._request)
        request.vector.num_envs = spec.size
        request.vector.report_member_resets = on_lost == "replay"
        own = self._request.vector.member_kwargs[spec.start : spec.stop]
        del request.vector.member_kwargs[:]
        request.vector.member_kwargs.extend(own)
        servers = self._servers.starting_at(spec.target_index)
        maker = SessionMaker(servers, request, self._family, watch=watch)
        strategy = SHARD_STRATEGIES[on_lost](self._options, self._render_mode, spec.size)
        label = f"{label}, environments {spec.start} to {spec.stop - 1}"
        handle = kind.handle_class(maker, strategy, label)
        return kind(EPISODES[on_lost](spec, handle), handle)

    def close(self) -> None:
        """Closes the transports that no session uses."""
        self._servers.close()


def most_per_session(error: Exception, sessions: int | None) -> int:
    """Returns how many environments fit into one session of a server that refused more; re-raises other errors.

    Args:
        error: Why the sessions could not be made.
        sessions: The number of sessions that the user chose; None if it is ours to choose.

    Raises:
        Exception: The error.
    """
    fitting = error.metadata.get("envs_per_session", "") if isinstance(error, RemoteError) else ""
    if sessions is not None or not fitting.isdecimal() or not int(fitting):
        raise error
    return int(fitting)


def _one_session(sessions: int | None, on_lost: str) -> int:
    """Returns the number of sessions of environments whose arrays stay on a device.

    Raises:
        ValueError: There are to be several, or their episodes are to end here when the session is lost.
    """
    if sessions not in {None, 1}:
        raise ValueError(
            f"sessions={sessions} with device=: arrays on a device come from one session; leave it out, and use "
            "vectorization_mode='vector_entry_point'"
        )
    if on_lost == "truncate":
        raise ValueError("on_lost='truncate' with device=; choose 'raise' or 'replay'")
    return 1


class ShardPool:
    """All shards of a vector environment.

    Args:
        label: Names the vector environment in messages.

    Attributes:
        shards: The shards in the order of their environments.
    """

    def __init__(self, label: str) -> None:
        self.shards: list[Shard] = []
        self._label = label
        self._pid = THIS_PROCESS.pid

    def make(self, specs: Sequence[ShardSpec], servers: VectorServers) -> list[pb.MakeResponse]:
        """Makes all sessions; returns the answers to their Makes.

        Args:
            specs: The environments of each shard.
            servers: The servers.
        """
        self.shards = [servers.shard(spec, self._label, Shard) for spec in specs]
        return at_once(SessionHandle.make, [shard.handle for shard in self.shards])

    def make_missing(self) -> None:
        """Makes the sessions that are missing in this process."""
        if self._pid != THIS_PROCESS.pid:
            for shard in self.shards:
                shard.handle.kill()
            self._pid = THIS_PROCESS.pid
        handles = [shard.handle for shard in self.shards]
        at_once(SessionHandle.make, [handle for handle in handles if handle.driver is None])

    def check_live(self, closed: bool) -> None:
        """Checks that the environments can step in this process.

        Args:
            closed: Whether they are closed.

        Raises:
            SessionClosedError: The environments are closed, or belong to a parent process.
        """
        if closed or self._pid != THIS_PROCESS.pid:
            raise not_live(self._label, None if closed else self._pid)

    def live(self) -> list[Shard]:
        """Returns the shards, after checking that each has a session.

        Raises:
            SessionClosedError: A session was lost.
        """
        if any(shard.handle.driver is None for shard in self.shards):
            raise not_live(self._label)
        return self.shards

    def close(self) -> None:
        """Closes the sessions of this process, but not those of a parent process.

        Raises:
            Exception: The first exception of the environments.
        """
        sessions = [shard.handle.release() for shard in self.shards]
        close_all([each for each in sessions if each is not None and each.pid == THIS_PROCESS.pid])

    def kill(self) -> None:
        """Closes the sessions that were made before one could not be made."""
        for shard in self.shards:
            shard.handle.kill(close=True)


def close_all(drivers: Sequence[BlockingDriver]) -> None:
    """Closes sessions at the same time.

    Raises:
        Exception: The first exception of the environments.
    """
    failures = _failures(BlockingDriver.begin_close, drivers)
    begun = [each for each in drivers if each not in failures and each.session.pending]
    failures.update(_failures(BlockingDriver.finish, begun))
    for driver in drivers:
        driver.kill()
    for error in filter(should_report, failures.values()):
        raise error


def _failures(
    function: Callable[[BlockingDriver], object], drivers: Iterable[BlockingDriver]
) -> dict[BlockingDriver, Exception]:
    """Calls a function for each driver, even if a call raises; returns the exceptions by driver."""
    failures: dict[BlockingDriver, Exception] = {}
    for driver in drivers:
        try:
            function(driver)
        except Exception as error:  # noqa: PERF203 - the other sessions have to be closed nevertheless
            failures[driver] = error
    return failures
