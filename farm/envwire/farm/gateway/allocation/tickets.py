"""Signs tickets, which let clients make environments on servers that have no token of theirs.

The key is generated at the start and never leaves the process; servers get the public key when they register.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from envwire.farm.gateway.allocation.allocating import Share
from envwire.farm.v1 import farm_pb2 as pb

#: Lifetime of a ticket, in seconds.
_SECONDS = 60


class TicketSigner:
    """Signs the tickets of one gateway.

    Args:
        clock: Monotonic time, in seconds.

    Attributes:
        public_key: The key by which servers verify the tickets, 32 bytes.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._key = Ed25519PrivateKey.generate()
        self.public_key = self._key.public_key().public_bytes_raw()

    @property
    def now(self) -> int:
        """The time by the clock that tickets expire by, in whole seconds."""
        return int(self._clock())

    def sign(self, principal: str, share: Share, request: pb.AllocateRequest) -> bytes:
        """Returns a SignedTicket for an allocation's Makes on one server.

        It is empty when the client asked for none, or the server accepts none or is reached through the gateway only.

        Args:
            principal: Name of the client.
            share: The slots.
            request: What the client asked for.
        """
        member = share.member
        if not (member.client_address and member.hello.keeps_slots and request.make_digest):
            return b""
        ticket = pb.Ticket(
            principal=principal,
            incarnation=member.incarnation,
            env_id=request.env_id,
            make_digest=request.make_digest,
            count=share.slots,
            nonce=share.name or secrets.token_bytes(16),
            expires=self.now + _SECONDS,
        ).SerializeToString()
        return pb.SignedTicket(ticket=ticket, signature=self._key.sign(ticket)).SerializeToString()
