"""The Docker engine: servers of groups as containers of this machine, found by their labels.

Containers share the machine's network, so that they and agents reach each other on loopback as processes do. They have
no capabilities and no way to more privileges, a root file system that cannot be written, and the limits of their group.
They outlive a farm that is killed: the next one of the same name finds them.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any, TypeVar

from envwire.farm.engines.docker_container import (
    DIGEST,
    FARM,
    GROUP,
    container_options,
    digest_of,
    end_of,
    refusal_of,
)
from envwire.farm.engines.engine import Observed
from envwire.farm.gateway.groups.failures import EngineError, Failure, Kind
from envwire.farm.gateway.groups.group_config import GroupConfig

T = TypeVar("T")

#: Seconds for one call of the engine.
_CALL_SECONDS = 20
#: Seconds for one call that pulls an image, or waits for a drain.
_PULL_SECONDS = 3600
#: Seconds that a container has to stop, beyond the drain time of its sessions.
_STOP_SECONDS = 10


class DockerEngine:
    """Runs servers as containers.

    Args:
        farm: Name of the farm; a later one of this name takes its containers over.
        groups: The groups that run here. Containers of others, or with other settings, are stopped.
        gateways: HOST:PORT of the gateways that they join, on loopback.
        join_token: File with the token to join with; empty for none.
        changed: Called when something happened.

    Raises:
        OSError: The package `docker` is not installed.
    """

    def __init__(
        self,
        farm: str,
        groups: Iterable[GroupConfig],
        gateways: Sequence[str],
        join_token: str,
        changed: asyncio.Event,
    ) -> None:
        self._farm = farm
        self._digests = {each.name: digest_of(each) for each in groups}
        self._gateways = gateways
        self._join_token = join_token
        self._changed = changed
        self._docker = _docker()
        self._client: Any = None
        self._patient: Any = None
        self._starting = defaultdict[str, dict[str, asyncio.Task[None]]](dict)
        self._doing: dict[str, str] = {}
        self._stopping: dict[str, asyncio.Task[None]] = {}
        self._failures = defaultdict[str, list[Failure]](list)

    async def scale(self, group: GroupConfig, servers: int, stop: Sequence[str] = ()) -> None:
        """Starts and stops containers (see `Engine.scale`)."""
        for name in stop:
            self._stop(name, group.server.drain_timeout)
        running = sorted((await self._running())[group.name])
        for _ in range(servers - len(running)):
            name = f"{self._farm}-{group.name}-{secrets.token_hex(3)}"
            self._begin(self._starting[group.name], name, self._start(group, name))
        for name in running[: max(len(running) - servers, 0)]:
            self._stop(name, group.server.drain_timeout)

    async def observe(self) -> Mapping[str, Observed]:
        """Returns the containers of all groups (see `Engine.observe`)."""
        running = await self._running()
        return {
            group: Observed(
                frozenset(running[group]),
                self._doing.get(group, "") if self._starting[group] else "",
                failures=self._failures.pop(group, ()),
            )
            for group in {*running, *self._failures}
        }

    async def _running(self) -> defaultdict[str, set[str]]:
        """Returns the names of containers that run or start, by group; removes what is left of others."""
        found = await self._call(
            lambda client: client.api.containers(
                all=True, filters={"label": f"{FARM}={self._farm}"}
            )
        )
        running = defaultdict[str, set[str]](set)
        for each in found:
            name, labels = each["Names"][0].lstrip("/"), each["Labels"]
            if name in self._stopping:
                continue
            if each["State"] in ("exited", "dead"):
                await self._bury(name, labels[GROUP])
            elif labels[DIGEST] != self._digests.get(labels[GROUP]):
                self._stop(name)  # of an earlier file, whose group was changed
            else:
                running[labels[GROUP]].add(name)
        for group, starting in self._starting.items():
            running[group].update(name for name in starting if name not in self._stopping)
        return running

    async def stop(self) -> None:
        """Stops all containers of the farm (see `Engine.stop`)."""
        with contextlib.suppress(EngineError):
            for names in (await self._running()).values():
                for name in names:
                    self._stop(name)
        await asyncio.gather(*self._stopping.values(), return_exceptions=True)

    def _stop(self, name: str, drain: float = 0.0) -> None:
        if name not in self._stopping:
            for starting in self._starting.values():
                if name in starting:
                    starting[name].cancel()
            seconds = int(drain) + _STOP_SECONDS
            self._begin(self._stopping, name, self._remove(name, seconds))

    def _begin(
        self, tasks: dict[str, asyncio.Task[None]], name: str, work: Coroutine[Any, Any, None]
    ) -> None:
        task = tasks[name] = asyncio.ensure_future(work)

        def done(_: object) -> None:
            del tasks[name]
            self._changed.set()

        task.add_done_callback(done)

    async def _start(self, group: GroupConfig, name: str) -> None:
        """Starts a container, after its image was pulled if it is not there."""
        try:
            try:
                await self._run(group, name)
            except self._docker.errors.ImageNotFound:
                self._doing[group.name] = f"pulling image {group.image}"
                await self._call(lambda client: client.images.pull(group.image), long=True)
                self._doing[group.name] = ""
                await self._run(group, name)
        except self._docker.errors.APIError as error:
            self._failures[group.name].append(refusal_of(error))
        except EngineError as error:
            self._failures[group.name].append(error.failure)
        finally:
            self._doing[group.name] = ""

    async def _run(self, group: GroupConfig, name: str) -> None:
        options = container_options(
            self._docker.types, self._farm, group, name, self._gateways, self._join_token
        )
        try:
            await self._call(lambda client: client.containers.run(group.image, **options))
        except self._docker.errors.APIError:
            with contextlib.suppress(self._docker.errors.APIError, EngineError):
                await self._delete(name)
            raise

    async def _bury(self, name: str, group: str) -> None:
        """Removes a container that ended by itself, and records why it did."""
        with contextlib.suppress(self._docker.errors.NotFound):
            state = (await self._call(lambda client: client.api.inspect_container(name)))["State"]
            said = await self._call(lambda client: client.api.logs(name, tail=5))
            await self._delete(name)
            if state["ExitCode"] or state.get("OOMKilled"):  # else an operator drained it
                self._failures[group].append(end_of(name, state, said))

    async def _remove(self, name: str, seconds: int) -> None:
        """Stops a container, whose sessions have their drain time, and removes it."""
        gone = (self._docker.errors.NotFound, EngineError)
        with contextlib.suppress(*gone):
            await self._call(lambda client: client.api.stop(name, timeout=seconds), long=True)
        with contextlib.suppress(*gone, self._docker.errors.APIError):
            await self._delete(name)

    async def _delete(self, name: str) -> None:
        """Removes a container, running or not, with the volumes that were made for it."""
        await self._call(lambda client: client.api.remove_container(name, v=True, force=True))

    async def _call(self, call: Callable[[Any], T], *, long: bool = False) -> T:
        """Calls the engine, which may be slow, in a thread.

        Raises:
            EngineError: It does not answer.
            APIError: It refuses.
        """
        try:
            if self._client is None:
                self._client = await asyncio.to_thread(self._docker.from_env, timeout=_CALL_SECONDS)
                self._patient = await asyncio.to_thread(
                    self._docker.from_env, timeout=_PULL_SECONDS
                )
            return await asyncio.to_thread(call, self._patient if long else self._client)
        except self._docker.errors.APIError:
            raise
        except (self._docker.errors.DockerException, OSError) as error:
            raise EngineError(_unanswered(error)) from error


def _docker() -> Any:
    """Imports the package, on first use and untyped.

    Raises:
        OSError: It is not installed.
    """
    try:
        import_module("docker.errors")  # a folder of that name is no package docker
        return import_module("docker")
    except ModuleNotFoundError:
        raise OSError(
            "--on docker takes the package docker: pip install 'envwire[docker]'"
        ) from None


def _unanswered(error: Exception) -> Failure:
    if "PermissionError" in str(error) or isinstance(error, PermissionError):
        text = "this user may not use the Docker engine; add it to the group docker, or use a rootless engine"
        return Failure(Kind.PERMISSION, text)
    return Failure(Kind.ENGINE, f"no Docker engine answers: {error}")
