"""FarmService: servers register and report, clients allocate and locate, operators list."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import grpc
import grpc.aio
from google.protobuf.message import DecodeError

from envwire.codec import FaultError, Reason
from envwire.codec.durations import to_duration, to_seconds
from envwire.farm.gateway.allocation.allocating import Allocator
from envwire.farm.gateway.allocation.slots import SlotKeeper, SlotKeepers
from envwire.farm.gateway.allocation.tickets import TicketSigner
from envwire.farm.gateway.config import GatewayConfig
from envwire.farm.gateway.registry.placement import Want
from envwire.farm.gateway.registry.registry import HELD_SECONDS, Registry
from envwire.farm.gateway.registry.states import Member
from envwire.farm.gateway.registry.succession import TakenError
from envwire.farm.v1 import farm_pb2 as pb
from envwire.server._auth.access import Access, PeerIdentity
from envwire.server._auth.client import Client
from envwire.server._front.grpc.edge import Context, peer_identity, turn_away
from envwire.server._front.grpc.scoped import Answer, scoped, scoped_call

#: Longest time between two reports of a server.
HEARTBEAT_SECONDS = 1.0
#: Longest wait for a server's hello, which it sends as soon as it is connected.
_HELLO_SECONDS = 10.0
_MOST_ALLOCATED = 100_000


class FarmService:
    """Serves FarmService.

    Args:
        config: The gateway's settings.
        access: Identifies clients and servers.
        registry: The servers.
        keepers: Those that keep slots.
        allocator: Allocates their slots.
        signer: Signs tickets.
        incarnation: Identifies this run of the gateway.
        clock: Monotonic time, in seconds.
        waiting: How many Makes wait for room.
    """

    def __init__(
        self,
        config: GatewayConfig,
        access: Access,
        registry: Registry,
        keepers: SlotKeepers,
        allocator: Allocator,
        signer: TicketSigner,
        incarnation: str,
        clock: Callable[[], float],
        waiting: Callable[[], int],
    ) -> None:
        self._access = access
        #: Without tokens the operator trusts the network, and every server may join.
        self._open = config.insecure and not config.tokens and not config.tls_client_ca
        self._registry = registry
        self._keepers = keepers
        self._allocator = allocator
        self._signer = signer
        self._incarnation = incarnation
        self._clock = clock
        self._waiting = waiting

    def handlers(self) -> grpc.GenericRpcHandler:
        """Returns what serves its methods. Messages are read after the caller is authenticated."""
        answers: dict[str, Answer] = {
            "Locate": self._locate,
            "ListServers": self._list_servers,
        }
        handlers: dict[str, Any] = {
            name: grpc.stream_unary_rpc_method_handler(
                scoped(self._access, _SCOPED[name], answer, "envwire/farm/v1")
            )
            for name, answer in answers.items()
        }
        handlers["Allocate"] = grpc.stream_unary_rpc_method_handler(
            scoped_call(self._access, _SCOPED["Allocate"], self._allocate, "envwire/farm/v1")
        )
        handlers["Register"] = grpc.stream_stream_rpc_method_handler(self._register)
        return grpc.method_handlers_generic_handler(SERVICE, handlers)

    async def _register(self, _: Any, context: Context) -> None:
        try:
            peer = peer_identity(context)
            client = self._access.identify(peer)
            if not self._open:
                client.check(_SCOPED["Register"])
            hello = await _read_hello(context)
            address = _address(hello, peer)
            client.check_server(hello.server_id, address)
            member = self._registry.register(hello, address, self._clock(), client.name)
        except FaultError as fault:
            await turn_away(context, fault)
        except TakenError as error:
            await context.abort(grpc.StatusCode.ALREADY_EXISTS, str(error))
        answer = pb.RegisterResponse(
            incarnation=self._incarnation,
            heartbeat=to_duration(HEARTBEAT_SECONDS),
            ticket_key=self._signer.public_key,
            ticket_clock=self._signer.now,
        )
        try:
            await context.write(answer.SerializeToString())
            await self._keep_slots(member, context)
            # A connection that broke ends the requests as well, but only a server that says goodbye can be answered.
            await context.write(answer.SerializeToString())
            self._registry.leave(member, self._clock())
        finally:
            self._registry.disconnect(member, self._clock())

    async def _keep_slots(self, member: Member, context: Context) -> None:
        """Carries orders about slots, and reports, until these end."""
        keeper = SlotKeeper()
        self._keepers.add(member, keeper)
        ordering = asyncio.ensure_future(_send_orders(keeper, context))
        try:
            await self._follow(member, keeper, context)
        finally:
            self._keepers.remove(member, keeper)
            ordering.cancel()
            await asyncio.wait({ordering})

    async def _follow(self, member: Member, keeper: SlotKeeper, context: Context) -> None:
        """Records a server's reports until they end. A server that was found dead has to register again."""
        while True:
            message: Any = await context.read()
            if message is grpc.aio.EOF:
                return
            if member.dead:
                await context.abort(grpc.StatusCode.ABORTED, "silent for too long; register again")
            report = pb.RegisterRequest.FromString(message)
            if report.HasField("slot_answer"):
                keeper.take_answer(report.slot_answer)
                continue
            self._registry.report(member, report.load, self._clock())

    async def _allocate(self, raw: bytes, client: Client) -> pb.AllocateResponse:
        request = pb.AllocateRequest.FromString(raw)
        if not 1 <= request.count <= _MOST_ALLOCATED:
            raise _malformed(f"count is {request.count}; it must be 1 to {_MOST_ALLOCATED}")
        want = Want(
            request.env_id,
            request.library,
            dict(request.labels),
            request.fingerprint,
            request.strategy,
        )
        wait = to_seconds(request.wait)
        shares = await self._allocator.allocate(want, request.count, wait)
        allocations = [
            pb.Allocation(
                address=share.member.address,
                incarnation=share.member.incarnation,
                count=share.slots,
                reservation_id=share.name,
                ticket=self._signer.sign(client.name, share, request),
            )
            for share in shares
        ]
        return pb.AllocateResponse(allocations=allocations, held=to_duration(HELD_SECONDS))

    def _locate(self, raw: bytes) -> pb.LocateResponse:
        session_id = pb.LocateRequest.FromString(raw).session_id
        liveness, address = self._registry.locate(session_id, self._clock())
        return pb.LocateResponse(liveness=liveness, address=address)

    def _list_servers(self, _: bytes) -> pb.ListServersResponse:
        now = self._clock()
        self._registry.advance(now)
        servers = [_status(member, now) for member in self._registry]
        return pb.ListServersResponse(servers=servers, waiting=self._waiting())


SERVICE = pb.DESCRIPTOR.services_by_name["FarmService"].full_name
#: Name of each method in the table of scopes.
_SCOPED = {
    "Register": "register",
    "Allocate": "allocate",
    "Locate": "locate",
    "ListServers": "list_servers",
}


async def _send_orders(keeper: SlotKeeper, context: Context) -> None:
    while True:
        order = await keeper.next_order()
        await context.write(pb.RegisterResponse(slot_order=order).SerializeToString())


async def _read_hello(context: Context) -> pb.ServerHello:
    """Reads the first message of a registration.

    Raises:
        FaultError: MALFORMED_REQUEST: it is no hello, or does not come.
    """
    try:
        message: Any = await asyncio.wait_for(context.read(), _HELLO_SECONDS)
        hello = pb.RegisterRequest.FromString(b"" if message is grpc.aio.EOF else message).hello
    except (asyncio.TimeoutError, DecodeError) as error:
        raise _malformed(f"no hello: {error}") from None
    if not (hello.server_id and hello.address and hello.info.incarnation):
        raise _malformed("a hello needs server_id, address and info.incarnation")
    if not hello.info.max_sessions:
        raise _malformed("a server without slots; info.max_sessions must be 1 or more")
    return hello


def _address(hello: pb.ServerHello, peer: PeerIdentity) -> str:
    """Returns where a server is reached: ":PORT" is on the host that it registers from."""
    if not hello.address.startswith(":"):
        return hello.address
    host = peer.address or "localhost"
    return (f"[{host}]" if ":" in host else host) + hello.address


def _status(member: Member, now: float) -> pb.ServerStatus:
    return pb.ServerStatus(
        server_id=member.hello.server_id,
        address=member.address,
        state=member.state(now),
        active_sessions=member.load,
        max_sessions=member.capacity,
        environment_count=len(member.ids),
        version=member.hello.info.version,
        fingerprint=member.hello.fingerprint,
        labels=member.hello.labels,
        silence=to_duration(member.silence(now)),
    )


def _malformed(text: str) -> FaultError:
    return FaultError(
        Reason.MALFORMED_REQUEST, f"{text}; send what protos/envwire/farm/v1 describes"
    )
