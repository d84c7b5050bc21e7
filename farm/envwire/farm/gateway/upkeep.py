"""Upkeep: periodic work of the gateway, such as probing silent servers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from envwire.farm.gateway.registry.registry import Registry
from envwire.farm.gateway.registry.states import Member
from envwire.farm.gateway.relaying.routing import Routes

_log = logging.getLogger("envwire.farm")

#: Seconds between two sweeps: often enough to notice a stall of the gateway itself (see `STALL_SECONDS`).
_SWEEP_SECONDS = 0.25
_PROBE_SECONDS = 1.0


class Upkeep:
    """Sweeps the registry of one gateway: probes silent servers and fails the calls that wait for dead ones.

    Args:
        registry: The servers.
        routes: The connections to them.
        clock: Monotonic time, in seconds.
        swept: Called after each sweep.
    """

    def __init__(
        self,
        registry: Registry,
        routes: Routes,
        clock: Callable[[], float],
        swept: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._registry = registry
        self._routes = routes
        self._clock = clock
        self._swept = swept
        self._probes: dict[Member, asyncio.Task[None]] = {}
        registry.on_dead, registry.on_cut = self._on_dead, self._probe_soon
        self._sweeper = asyncio.ensure_future(self._sweep_forever())

    async def _sweep_forever(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            for member in self._registry.sweep(self._clock()):
                self._probe_soon(member)
            if self._swept is not None:
                await self._swept()

    def _probe_soon(self, member: Member) -> None:
        if member not in self._probes:
            self._probes[member] = asyncio.ensure_future(self._probe(member))

    async def _probe(self, member: Member) -> None:
        try:
            begun = self._clock()
            answered = await self._routes.link(member).answers(_PROBE_SECONDS)
            reported = member.reported_at > begun
            self._registry.probed(member, answered or reported, self._clock())
            await asyncio.sleep(max(begun + _PROBE_SECONDS - self._clock(), 0.0))
        finally:
            del self._probes[member]

    def _on_dead(self, member: Member) -> None:
        level = logging.INFO if member.draining or member.leaving else logging.WARNING
        _log.log(level, "server %s is gone: %s", member.hello.server_id, member.address)
        self._routes.cut(member)

    async def stop(self) -> None:
        """Stops the sweeps."""
        tasks = [self._sweeper, *self._probes.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
