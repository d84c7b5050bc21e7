"""FarmService: servers register and report, clients allocate and locate, operators list."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import grpc

from envwire.codec.messages import to_duration, to_seconds
from envwire.farm.gateway.allocation.allocating import Allocator
from envwire.farm.gateway.allocation.relayed_slots import RelayedSlots
from envwire.farm.gateway.allocation.tickets import TicketSigner
from envwire.farm.gateway.groups.group_calls import GroupCalls
from envwire.farm.gateway.hellos import MAX_CHARACTERS, MAX_LISTED, PROTOS
from envwire.farm.gateway.makes.make_queue import MakeQueue
from envwire.farm.gateway.registering import Registering
from envwire.farm.gateway.registry.placement import Requirements
from envwire.farm.gateway.registry.quotas import Quotas
from envwire.farm.gateway.registry.registry import HELD_SECONDS, Registry
from envwire.farm.gateway.registry.states import Member
from envwire.farm.v1 import farm_pb2 as pb
from envwire.server._auth.access import Access
from envwire.server._auth.client import Client
from envwire.server._front.grpc.services import Answer, scoped_methods
from envwire.server._ipc.refusals import malformed

_MAX_ALLOCATED = 100_000


@dataclass(eq=False)
class FarmService:
    """Serves FarmService.

    Args:
        access: Identifies clients.
        registering: Serves registrations.
        registry: The servers.
        allocator: Allocates their slots.
        relayed_slots: Where Makes that name slots of servers behind the gateway go.
        quotas: The quotas of clients.
        signer: Signs tickets.
        clock: Monotonic time, in seconds.
        queue: The Makes that wait for a slot.
        group_calls: Answers calls about groups.
    """

    _access: Access
    _registering: Registering
    _registry: Registry
    _allocator: Allocator
    _relayed_slots: RelayedSlots
    _quotas: Quotas
    _signer: TicketSigner
    _clock: Callable[[], float]
    _queue: MakeQueue
    _group_calls: GroupCalls

    def __post_init__(self) -> None:
        self._began = self._clock()

    def handlers(self) -> grpc.GenericRpcHandler:
        """Returns the gRPC handlers."""
        answers: dict[str, Answer] = {
            "allocate": self._allocate,
            "locate": self._locate,
            "list_servers": self._list_servers,
            "list_usage": self._list_usage,
            "list_groups": self._group_calls.list_groups,
            "scale_group": self._group_calls.scale_group,
            "pause_group": self._group_calls.pause_group,
        }
        handlers: dict[str, Any] = {
            "Register": grpc.stream_stream_rpc_method_handler(self._registering.serve),
            "Tunnel": grpc.stream_stream_rpc_method_handler(
                self._registering.serve_tunnel, _data, _tunnel_response
            ),
            **scoped_methods(self._access, answers, PROTOS),
        }
        return grpc.method_handlers_generic_handler(SERVICE, handlers)

    async def _allocate(self, raw: bytes, client: Client) -> pb.AllocateResponse:
        request = pb.AllocateRequest.FromString(raw)
        if not 1 <= request.count <= _MAX_ALLOCATED:
            raise malformed(f"count is {request.count}; it must be 1 to {_MAX_ALLOCATED}", PROTOS)
        _check_texts(request)
        requirements = Requirements(
            request.env_id,
            request.library,
            dict(request.labels),
            request.fingerprint,
            request.strategy,
            direct=not request.relayed,
        )
        wait = to_seconds(request.wait)
        if self._quotas.of(client):
            await self._queue.settled()
        with self._quotas.claim(client, request.count) as claim:
            shares = await self._allocator.allocate(requirements, request.count, wait, claim)
        for share in shares:
            if share.member.relayed:
                self._relayed_slots.keep(share, client.name)
        allocations = [
            pb.Allocation(
                address=share.member.client_address,
                incarnation=share.member.incarnation,
                count=share.slots,
                reservation_id=share.name,
                ticket=self._signer.sign(client.name, share, request),
            )
            for share in shares
        ]
        return pb.AllocateResponse(allocations=allocations, held=to_duration(HELD_SECONDS))

    async def _locate(self, raw: bytes, _: Client) -> pb.LocateResponse:
        request = pb.LocateRequest.FromString(raw)
        liveness, address = self._registry.locate(
            request.session_id, self._clock(), silent=request.silent
        )
        return pb.LocateResponse(liveness=liveness, address=address)

    async def _list_servers(self, _: bytes, __: Client) -> pb.ListServersResponse:
        now = self._clock()
        self._registry.advance(now)
        servers = [_status(member, now) for member in self._registry]
        return pb.ListServersResponse(servers=servers, waiting=len(self._queue))

    async def _list_usage(self, _: bytes, __: Client) -> pb.ListUsageResponse:
        reported = [each.usage for each in self._registry.members if each.usage and not each.dead]
        usage = self._registry.usage.list(reported)
        return pb.ListUsageResponse(usage=usage, since=to_duration(self._clock() - self._began))


SERVICE = pb.DESCRIPTOR.services_by_name["FarmService"].full_name


def _check_texts(request: pb.AllocateRequest) -> None:
    """Refuses texts that no server could have: requests wait, and each server gets a ticket with the digest.

    Raises:
        FaultError: MALFORMED_REQUEST.
    """
    labels = request.labels
    texts = (request.env_id, request.library, request.fingerprint, request.make_digest)
    longest = max(map(len, (*texts, *labels, *labels.values())))
    if longest > MAX_CHARACTERS or len(labels) > MAX_LISTED:
        raise malformed(
            f"an allocation with {len(labels)} labels and up to {longest} characters in a text; {MAX_LISTED} and "
            f"{MAX_CHARACTERS} are accepted",
            PROTOS,
        )


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
        tunnelled=member.hello.tunnelled,
        pid=member.hello.pid,
    )


def _data(request: bytes) -> bytes:
    return pb.TunnelRequest.FromString(request).data


def _tunnel_response(data: bytes) -> bytes:
    return pb.TunnelResponse(data=data).SerializeToString()
