"""Serves the AdminService calls of a farm's operator, which a gateway forwards over the registration."""

from __future__ import annotations

import logging
import time

from envwire.codec import FaultError, Reason, encode_fault
from envwire.farm.v1 import farm_pb2
from envwire.server._auth.client import Client
from envwire.server._auth.scopes import EVERYTHING, Scope
from envwire.server._front.admin_service import AdminService
from envwire.server._logs.fields import extra

_log = logging.getLogger("envwire.server")


def gateway_client(gateway: str, *, shown_token: bool) -> Client:
    """Returns a gateway as a client of the server that joined it.

    The gateway has checked the operator's scope. A gateway without tokens has no operators, so it may only list
    sessions: if it asks for more, it may be another process of this machine that took the port of a dead gateway.

    Args:
        gateway: HOST:PORT of the gateway.
        shown_token: Whether the server joined with a token.
    """
    return Client(
        f"gateway {gateway}",
        EVERYTHING if shown_token else frozenset({Scope.INSPECT}),
        "Give the server a token to join with, by --join-token",
    )


class AdminOrders:
    """Serves the calls that one gateway forwards.

    Args:
        service: The server's AdminService.
        gateway: The gateway, as a client.
        now: Current time of the gateway's clock, in seconds; orders expire by that clock.
    """

    def __init__(self, service: AdminService, gateway: Client, now: int) -> None:
        self._ahead = time.monotonic() - now
        self._answers = service.answers
        self._gateway = gateway

    async def obey(self, order: farm_pb2.AdminOrder) -> farm_pb2.AdminAnswer:
        """Serves a call; errors are reported in the answer."""
        answer = farm_pb2.AdminAnswer(order_id=order.order_id)
        try:
            await self._serve(order, answer)
        except FaultError as fault:
            encode_fault(fault, answer.error)
        return answer

    async def _serve(self, order: farm_pb2.AdminOrder, answer: farm_pb2.AdminAnswer) -> None:
        kind = order.WhichOneof("call")
        if kind is None:
            raise FaultError(Reason.UNSUPPORTED, "this server does not know the call; update it")
        if order.expires and time.monotonic() > order.expires + self._ahead:
            raise FaultError(Reason.INVALID_VALUE, f"{kind} came too late: it has expired")
        client = self._gateway.name
        _log.info("%s orders %s for %s", client, kind, order.principal, extra=extra(client=client))
        self._gateway.check(kind)
        request = getattr(order, kind).SerializeToString()
        getattr(answer, kind).CopyFrom(await self._answers[kind](request, self._gateway))
