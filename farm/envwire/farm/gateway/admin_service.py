"""AdminService of a gateway: forwards the calls to its servers, over their registrations."""

from __future__ import annotations

import asyncio

import grpc

from envwire.admin.v1 import admin_pb2 as admin
from envwire.codec import FaultError, Reason
from envwire.codec.errors.statuses import reason_of
from envwire.farm.gateway.orders.outbox import UnansweredError
from envwire.farm.gateway.orders.registrations import Registrations
from envwire.farm.gateway.registry.registry import Registry
from envwire.farm.gateway.registry.states import Member
from envwire.farm.gateway.session_pages import Cursor, Part, checked, enough, joined
from envwire.farm.v1 import farm_pb2 as pb
from envwire.server._auth.access import Access
from envwire.server._auth.client import Client
from envwire.server._front.grpc.services import Answer, scoped_methods
from envwire.server._ipc.refusals import PROTOS, check_name, malformed, page_size

_SERVICE = admin.DESCRIPTOR.services_by_name["AdminService"].full_name


class AdminService:
    """Serves envwire.admin.v1 for a farm.

    Args:
        access: Identifies operators.
        registry: The servers.
        registrations: Their open registrations, which carry the calls.
    """

    def __init__(self, access: Access, registry: Registry, registrations: Registrations) -> None:
        self._access = access
        self._registry = registry
        self._registrations = registrations

    def handlers(self) -> grpc.GenericRpcHandler:
        """Returns the gRPC handlers."""
        answers: dict[str, Answer] = {
            "list_sessions": self._list_sessions,
            "end_session": self._end_session,
            "drain_server": self._drain_server,
        }
        methods = scoped_methods(self._access, answers, PROTOS)
        return grpc.method_handlers_generic_handler(_SERVICE, methods)

    async def _list_sessions(self, raw: bytes, client: Client) -> admin.ListSessionsResponse:
        request = admin.ListSessionsRequest.FromString(raw)
        most = page_size(request)
        cursor = Cursor.of(request.page_token)
        listed = self._listed(request.server_id)
        left = [each for each in listed if each.hello.server_id >= cursor.server_id]
        count = enough(left, most)
        parts = await asyncio.gather(
            *(self._part(each, most, cursor.at(each), client.name) for each in left[:count])
        )
        page = joined(parts, most, left[count] if count < len(left) else None)
        page.total = sum(each.active for each in listed)
        return page

    def _listed(self, server_id: str) -> list[Member]:
        """Returns the servers to list, in the order of their ids."""
        if server_id:
            return [self._named(server_id)]
        return [each for each in self._registry if not each.dead]

    async def _part(self, member: Member, most: int, after: str, principal: str) -> Part:
        request = admin.ListSessionsRequest(page_size=most, page_token=after)
        order = pb.AdminOrder(list_sessions=request, principal=principal)
        try:
            answer = (await self._ask(member, order)).list_sessions
        except (UnansweredError, FaultError) as error:
            return Part(member, why_not=str(error))
        return checked(member, answer, most, after)

    async def _end_session(self, raw: bytes, client: Client) -> admin.EndSessionResponse:
        request = admin.EndSessionRequest.FromString(raw)
        check_name("session_id", request.session_id)
        member = self._registry.owner(request.session_id)
        if member is None:
            raise FaultError(
                Reason.UNKNOWN_SESSION,
                f"no server that is registered here has session {request.session_id!r}: it has ended, or its server "
                "is gone or about to register again",
                metadata={"session_id": request.session_id},
            )
        order = pb.AdminOrder(end_session=request, principal=client.name)
        return (await self._order(member, order)).end_session

    async def _drain_server(self, raw: bytes, client: Client) -> admin.DrainServerResponse:
        request = admin.DrainServerRequest.FromString(raw)
        if not request.server_id:
            raise malformed(
                "this is a gateway: name the server to drain, by server_id (--server)", PROTOS
            )
        member = self._named(request.server_id)
        request.ClearField("server_id")
        order = pb.AdminOrder(drain_server=request, principal=client.name)
        return (await self._order(member, order)).drain_server

    def _named(self, server_id: str) -> Member:
        """Returns a server by its id or its address.

        Raises:
            FaultError: MALFORMED_REQUEST: no server has that id or address.
        """
        alive = [each for each in self._registry if not each.dead]
        names = {each.address: each for each in alive} | {
            each.hello.server_id: each for each in alive
        }
        if server_id in names:
            return names[server_id]
        raise malformed(
            f"no server {server_id!r} is registered here; FarmService.ListServers (`envwire farm status`) lists them",
            PROTOS,
        )

    async def _order(self, member: Member, order: pb.AdminOrder) -> pb.AdminAnswer:
        """Forwards a call (see `_ask`); a server that does not answer is an error with status UNAVAILABLE."""
        try:
            return await self._ask(member, order)
        except UnansweredError as error:
            raise FaultError(
                Reason.INTERNAL,
                f"server {member.hello.server_id} did not say that it obeys: {error}. It may still do so later. "
                f"Look at what it does, and try again, or ask the server itself at {member.address}",
                code=grpc.StatusCode.UNAVAILABLE.value[0],
                retry_after=1.0,
            ) from None

    async def _ask(self, member: Member, order: pb.AdminOrder) -> pb.AdminAnswer:
        """Forwards a call to a server and returns its answer.

        Raises:
            UnansweredError: The server does not answer.
            FaultError: The server refuses the call.
        """
        registration = self._registrations.for_calls(member)
        if registration is None:
            unable = f"version {member.hello.info.version} takes no orders of operators"
            raise UnansweredError(unable if member.connected else "it is not connected")
        answer = await registration.call(order)
        if answer.HasField("error"):
            error = answer.error
            raise FaultError(reason_of(error), error.message, code=error.code)
        return answer
