"""Executes gateways' orders about free slots. The server keeps the reservations, so that several gateways agree."""

from __future__ import annotations

from collections import Counter

from envwire.codec.durations import to_seconds
from envwire.farm.v1 import farm_pb2
from envwire.server._auth.client import FARM_PREFIX, TOKEN_PREFIX
from envwire.server._front.makes.admission import Admission
from envwire.server._front.sessions.table import Sessions

_Action = farm_pb2.SlotOrder.Action


class SlotOrders:
    """Reserves slots of one server.

    Args:
        sessions: The server's sessions.
        admission: Knows whether the server drains.
    """

    def __init__(self, sessions: Sessions, admission: Admission) -> None:
        self._sessions = sessions
        self._admission = admission

    @property
    def reserved(self) -> int:
        """Number of reserved slots."""
        return self._sessions.reservations.slots

    @property
    def by_client(self) -> farm_pb2.ClientSlots:
        """Slots that clients with tokens hold, by their names at the gateway."""
        slots = Counter[str]()
        for held in (self._sessions.holders, self._sessions.reservations.holders):
            for name, count in held.items():
                slots[name.removeprefix(FARM_PREFIX)] += count
        tokens = {name: count for name, count in slots.items() if name.startswith(TOKEN_PREFIX)}
        return farm_pb2.ClientSlots(slots=tokens)

    def obey(self, order: farm_pb2.SlotOrder) -> farm_pb2.SlotAnswer | None:
        """Executes an order; returns the answer if it is a reservation."""
        name, held = order.reservation_id, to_seconds(order.held)
        if order.action == _Action.ACTION_RESERVE:
            # A count of 0 takes no slot: a draining server still answers repeats of earlier Makes.
            refuses = self._admission.draining and order.count > 0
            granted = not refuses and self._sessions.reserve_slots(
                name, order.count, held, order.principal
            )
            return farm_pb2.SlotAnswer(reservation_id=name, granted=granted)
        if order.action == _Action.ACTION_COMMIT:
            self._sessions.reservations.extend(name, held)
        elif order.action == _Action.ACTION_RELEASE and self._sessions.reservations.release(name):
            self._sessions.on_free()
        return None
