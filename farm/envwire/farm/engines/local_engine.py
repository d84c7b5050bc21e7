"""The local engine: servers of groups as processes of this machine, which end with the farm, killed or not."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import signal
from collections.abc import Sequence
from dataclasses import dataclass, replace

from envwire.farm.engines.engine import server_config
from envwire.farm.engines.local import LocalServer
from envwire.farm.engines.packages import interpreter_with
from envwire.farm.engines.started_servers import Started, StartedServers
from envwire.farm.gateway.groups.failures import EngineError, Failure, Kind
from envwire.farm.gateway.groups.group_config import GroupConfig

_log = logging.getLogger("envwire.farm")


@dataclass(eq=False)
class _Process(Started):
    """A server, which is there once its interpreter is."""

    server: LocalServer | None = None


class LocalEngine(StartedServers[_Process]):
    """Runs servers as processes of this machine.

    Args:
        gateways: HOST:PORT of the gateways that they join.
        token: Token to join with; empty for none.
        changed: Set when a server starts, ends or fails.
    """

    def __init__(self, gateways: Sequence[str], token: str, changed: asyncio.Event) -> None:
        super().__init__(changed)
        self._gateways = gateways
        self._token = token

    def _new(self, group: GroupConfig, name: str) -> _Process:  # noqa: ARG002 - its task makes it
        return _Process()

    async def _live(self, group: GroupConfig, name: str, each: _Process) -> None:
        try:
            await self._run(group, name, each)
        except EngineError as error:
            self._failures[group.name].append(error.failure)
        except OSError as error:
            self._failures[group.name].append(Failure(_kind_of(error), _short(str(error))))
        finally:
            if each.server is not None:
                await each.server.stop()

    async def _run(self, group: GroupConfig, name: str, each: _Process) -> None:
        own = {"port": 0, "sys_path": (os.getcwd(),)}
        config = server_config(group, name, self._gateways, **own)
        if group.packages:
            each.doing = "installing packages"
            config = replace(config, python=await interpreter_with(group.packages))
        _check_interpreter(os.fspath(config.python))
        each.doing, each.placed = "", True
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
