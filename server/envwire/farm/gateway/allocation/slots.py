"""Orders to the servers of a farm about their free slots, over their registrations."""

from __future__ import annotations

import asyncio

from envwire.codec.durations import to_duration
from envwire.farm.gateway.registry.states import Member
from envwire.farm.v1 import farm_pb2 as pb

_Action = pb.SlotOrder.Action

#: A server that lives answers in milliseconds.
_ANSWER_SECONDS = 1.0


class SlotKeeper:
    """The free slots of one server, which its registration carries orders to."""

    def __init__(self) -> None:
        self._orders: asyncio.Queue[pb.SlotOrder] = asyncio.Queue()
        self._asked: dict[bytes, asyncio.Future[bool]] = {}

    async def next_order(self) -> pb.SlotOrder:
        """Returns the next order to send."""
        return await self._orders.get()

    async def reserve(self, name: bytes, count: int, seconds: float) -> bool:
        """Has the server keep free slots; returns whether it does. Without an answer it keeps none for long."""
        asked = self._asked[name] = asyncio.get_running_loop().create_future()
        self._order(_Action.ACTION_RESERVE, name, count, seconds)
        try:
            return await asyncio.wait_for(asked, _ANSWER_SECONDS)
        except asyncio.TimeoutError:
            return False
        finally:
            del self._asked[name]

    def commit(self, name: bytes, seconds: float) -> None:
        """Has the server keep them for so long."""
        self._order(_Action.ACTION_COMMIT, name, 0, seconds)

    def release(self, name: bytes) -> None:
        """Has the server give them back."""
        self._order(_Action.ACTION_RELEASE, name, 0, 0.0)

    def _order(self, action: _Action.ValueType, name: bytes, count: int, seconds: float) -> None:
        held = to_duration(seconds)
        self._orders.put_nowait(
            pb.SlotOrder(action=action, reservation_id=name, count=count, held=held)
        )

    def take_answer(self, answer: pb.SlotAnswer) -> None:
        """Takes a server's answer."""
        asked = self._asked.get(answer.reservation_id)
        if asked is not None and not asked.done():
            asked.set_result(answer.granted)

    def end(self) -> None:
        """Answers for a server whose registration ended."""
        for asked in self._asked.values():
            if not asked.done():
                asked.set_result(False)


class SlotKeepers:
    """The servers of a farm that keep slots."""

    def __init__(self) -> None:
        self._keepers: dict[str, SlotKeeper] = {}

    def add(self, member: Member, keeper: SlotKeeper) -> None:
        """Adds one, of a registration that begins."""
        self._keepers[member.incarnation] = keeper

    def remove(self, member: Member, keeper: SlotKeeper) -> None:
        """Removes one, of a registration that ended."""
        keeper.end()
        if self._keepers.get(member.incarnation) is keeper:
            del self._keepers[member.incarnation]

    def of(self, member: Member) -> SlotKeeper | None:
        """Returns what reaches the slots of a server; None for one that keeps none."""
        return self._keepers.get(member.incarnation) if member.hello.keeps_slots else None
