"""The local engine: servers of groups as processes of this machine, which end with the farm, killed or not."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import shutil
import signal
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from envwire.farm.engines.engine import Observed, server_config
from envwire.farm.engines.local import LocalServer
from envwire.farm.engines.packages import interpreter_with
from envwire.farm.gateway.groups.failures import EngineError, Failure, Kind
from envwire.farm.gateway.groups.group_config import GroupConfig

_log = logging.getLogger("envwire.farm")


@dataclass(eq=False)
class _Started:
    """A server, from the order to start it to its end.

    Attributes:
        server: The server, once its interpreter is there.
        doing: What it is doing before it runs.
        stopping: Whether it was told to stop.
    """

    server: LocalServer | None = None
    doing: str = ""
    stopping: bool = False
    life: asyncio.Task[None] = field(init=False)

    def end(self) -> None:
        """Tells it to stop: with its drain time, if it runs."""
        if not self.stopping:  # a second time would not let it drain
            self.stopping = True
            self.life.cancel()


class LocalEngine:
    """Runs servers as processes of this machine.

    Args:
        gateways: HOST:PORT of the gateways that they join.
        token: Token to join with; empty for none.
        changed: Called when a server starts, ends or fails.
    """

    def __init__(self, gateways: Sequence[str], token: str, changed: asyncio.Event) -> None:
        self._gateways = gateways
        self._token = token
        self._changed = changed
        self._started = defaultdict[str, dict[str, _Started]](dict)
        self._failures = defaultdict[str, list[Failure]](list)

    async def scale(self, group: GroupConfig, servers: int, stop: Sequence[str] = ()) -> None:
        """Starts and stops servers (see `Engine.scale`)."""
        there = self._started[group.name]
        for name in there.keys() & set(stop):
            there[name].end()
        running = {name: each for name, each in there.items() if not each.stopping}
        for _ in range(servers - len(running)):
            name = f"{group.name}-{secrets.token_hex(3)}"
            each = there[name] = _Started()
            each.life = asyncio.ensure_future(self._live(group, name, each))
            each.life.add_done_callback(partial(self._forget, group, name))
        unfinished_first = sorted(running.values(), key=lambda each: each.server is not None)
        for each in unfinished_first[: max(len(running) - servers, 0)]:
            each.end()

    async def observe(self) -> Mapping[str, Observed]:
        """Returns the servers of all groups (see `Engine.observe`)."""
        return {
            group: Observed(
                frozenset(name for name, each in there.items() if not each.stopping),
                next((each.doing for each in there.values() if each.doing), ""),
                failures=self._failures.pop(group, ()),
            )
            for group, there in self._started.items()
            if there or group in self._failures
        }

    async def stop(self) -> None:
        """Stops all servers (see `Engine.stop`)."""
        there = [each for started in self._started.values() for each in started.values()]
        for each in there:
            each.end()
        await asyncio.gather(*(each.life for each in there), return_exceptions=True)

    def _forget(self, group: GroupConfig, name: str, _: object) -> None:
        del self._started[group.name][name]
        self._changed.set()

    async def _live(self, group: GroupConfig, name: str, each: _Started) -> None:
        """Runs a server from its start to its end."""
        try:
            await self._run(group, name, each)
        except EngineError as error:
            self._failures[group.name].append(error.failure)
        except OSError as error:
            self._failures[group.name].append(Failure(_kind_of(error), _short(str(error))))
        finally:
            if each.server is not None:
                await each.server.stop()

    async def _run(self, group: GroupConfig, name: str, each: _Started) -> None:
        own = {"port": 0, "sys_path": (os.getcwd(),)}
        config = server_config(group, name, self._gateways, **own)
        if group.packages:
            each.doing = "installing packages"
            config = replace(config, python=await interpreter_with(group.packages))
        _check_interpreter(os.fspath(config.python))
        each.doing = ""
        each.server = LocalServer(config, self._token)
        await each.server.start(group.start_timeout)
        self._changed.set()
        if status := await each.server.ended():  # else an operator drained it
            raise EngineError(_end_of(name, status))


def _check_interpreter(python: str) -> None:
    """Checks that an interpreter is there, before each server: it may be removed while the farm runs.

    Raises:
        EngineError: There is none.
    """
    if python and not os.path.exists(python) and shutil.which(python) is None:
        raise EngineError(Failure(Kind.INTERPRETER, f"there is no {python}"))
    if python and not (os.access(python, os.X_OK) or shutil.which(python)):
        raise EngineError(Failure(Kind.PERMISSION, f"{python} is not executable"))


def _kind_of(error: OSError) -> Kind:
    return Kind.PERMISSION if isinstance(error, PermissionError) else Kind.NOT_STARTED


def _short(text: str) -> str:
    """Returns the first and the last line of an error: what failed, and the exception of its traceback."""
    first, *others = text.splitlines() or [""]
    return " ".join([first, *others[-1:]])


def _end_of(name: str, status: int) -> Failure:
    """Returns the failure of a server that ended by itself."""
    if status == -signal.SIGKILL:
        who = "by somebody, or by the system because memory was short"
        return Failure(Kind.ENDED, f"{name} was killed by SIGKILL: {who}")
    how = f"signal {signal.Signals(-status).name}" if status < 0 else f"status {status}"
    return Failure(Kind.ENDED, f"{name} ended by itself, with {how}; the log above says why")
