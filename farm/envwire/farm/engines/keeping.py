"""Keeps the groups of a farm: compares what runs with what is asked for, and orders the difference at their engines."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Iterable, Mapping
from typing import NoReturn

from envwire.farm.engines.engine import Engine, Observed
from envwire.farm.gateway.groups.demand import Target
from envwire.farm.gateway.groups.failures import EngineError, Failure, Kind
from envwire.farm.gateway.groups.group import Group
from envwire.farm.gateway.groups.groups import Groups
from envwire.server._grammar import counted

_log = logging.getLogger("envwire.farm")

#: Longest time between two looks at the groups, in seconds; events shorten it.
_LOOK_SECONDS = 0.5
#: Shortest time between two, so that a thousand Makes that come together cause a few.
_PAUSE_SECONDS = 0.02
#: Longest wait for an engine, in seconds. Makes and steps do not wait for it.
_ENGINE_SECONDS = 30.0


class Keeper:
    """Keeps the groups of one farm.

    Args:
        groups: The groups.
        engines: The engines, by name.
        changed: Set when something happened at an engine; the keeper sets it when something waits.
    """

    def __init__(
        self, groups: Groups, engines: Mapping[str, Engine], changed: asyncio.Event
    ) -> None:
        self._groups = groups
        self._engines = engines
        self._changed = changed
        self._ordering: dict[str, asyncio.Task[None]] = {}
        groups.on_want = changed.set

    async def keep(self) -> NoReturn:
        """Keeps them until it is cancelled."""
        looking = [asyncio.ensure_future(self._keep_at(name)) for name in self._engines]
        try:
            ended, _ = await asyncio.wait(looking, return_when=asyncio.FIRST_COMPLETED)
            ended.pop().result()
        finally:
            await _end([*looking, *self._ordering.values()])
        raise AssertionError("engines are looked at for ever")

    async def _keep_at(self, name: str) -> NoReturn:
        """Looks at the groups of one engine: a slow engine delays no other."""
        seen = False  # at least once: servers of an earlier run may be there
        while True:
            active = self._active_at(name)
            if active or not seen:
                seen = await self._look(name, active)
            await self._rest()

    def _active_at(self, name: str) -> list[Group]:
        active = self._groups.refresh(time.monotonic())
        return [each for each in active if each.config.engine == name]

    async def _rest(self) -> None:
        await asyncio.sleep(_PAUSE_SECONDS)
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._changed.wait(), _LOOK_SECONDS)
        self._changed.clear()

    async def _look(self, name: str, active: Iterable[Group]) -> bool:
        """Looks once; returns whether the engine answered."""
        engine = self._engines[name]
        try:
            observed = await asyncio.wait_for(engine.observe(), _ENGINE_SECONDS)
        except (
            Exception
        ) as error:  # an engine may raise anything, and no other group may wait for that
            for each in active:
                self._fail(each, _failure_of(error))
            return False
        for each in {*active, *self._groups.found(observed)}:
            self._take(each, observed.get(each.name, Observed()))
            self._order(engine, each)
        return True

    def _take(self, group: Group, observed: Observed) -> None:
        now = time.monotonic()
        group.observe(observed.running, observed.doing, now, observed.lacking)
        for failure in observed.failures:
            self._fail(group, failure)

    def _fail(self, group: Group, failure: Failure) -> None:
        now = time.monotonic()
        if group.failed(failure, now):
            pause = group.back_off.due - now
            _log.warning("group %s: %s; the next attempt is in %.0f s", group.name, failure, pause)
        self._groups.on_change()

    def _order(self, engine: Engine, group: Group) -> None:
        """Orders what a group lacks, or has too much of, unless an earlier order is under way."""
        if group.name in self._ordering:
            return
        now = time.monotonic()
        for name in group.overdue(now):
            why = f" ({group.doing})" * bool(group.doing)
            text = f"{name} did not register within {group.config.start_timeout:g} s{why}"
            self._fail(group, Failure(Kind.NOT_STARTED, text))
        target = group.target(now)
        if not target.stop and target.servers == len(group.running):
            return
        waiting = f", {counted(group.waiting, 'Make', 'wait')}" if group.waiting else ""
        _log.info(
            "group %s: from %d to %s%s",
            group.name,
            len(group.running),
            counted(target.servers, "server"),
            waiting,
        )
        group.leave(target.stop)
        self._ordering[group.name] = asyncio.ensure_future(self._scale(engine, group, target))

    async def _scale(self, engine: Engine, group: Group, target: Target) -> None:
        try:
            ordered = engine.scale(group.config, target.servers, target.stop)
            await asyncio.wait_for(ordered, _ENGINE_SECONDS)
        except Exception as error:  # an engine may raise anything
            group.leave(target.stop, leaving=False)
            self._fail(group, _failure_of(error))
        finally:
            del self._ordering[group.name]
            self._changed.set()


async def _end(tasks: Iterable[asyncio.Task[None]]) -> None:
    """Cancels tasks until they have ended.

    More than once: up to Python 3.11, `wait_for` forgets a cancellation that comes together with a result.
    """
    while pending := [each for each in tasks if not each.done()]:
        for each in pending:
            each.cancel()
        await asyncio.wait(pending, timeout=_LOOK_SECONDS)


def _failure_of(error: Exception) -> Failure:
    if isinstance(error, EngineError):
        return error.failure
    if isinstance(error, asyncio.TimeoutError):
        return Failure(Kind.ENGINE, f"no answer within {_ENGINE_SECONDS:g} s")
    return Failure(Kind.ENGINE, f"{type(error).__name__}: {error}")
