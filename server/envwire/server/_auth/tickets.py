"""Tickets, signed by a farm's gateway, with which the gateway's clients make environments on a server.

A server trusts the keys of the gateways that it registers with. A ticket names the server's run, the Make and the
number of sessions, and is valid for a minute, so a stolen ticket gives no further sessions, and none of another kind.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from google.protobuf.message import DecodeError

from envwire.codec import FaultError, Reason
from envwire.codec.digests import make_digest
from envwire.farm.v1 import farm_pb2
from envwire.server._grammar import counted
from envwire.v1 import environment_pb2 as pb

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

#: Keys trusted per gateway: also that of its previous run, whose tickets may still be in use.
_KEYS = 2
_KEY_BYTES = 32
#: Accepted tickets that are remembered, for the requests of their sessions over gRPC: the gateway that signed them may
#: have been restarted any number of times since.
_REMEMBERED = 16_384


@dataclass(frozen=True)
class _Key:
    """A gateway's key.

    Attributes:
        raw: The public key as bytes.
        public: The public key.
        incarnation: The run of this server that received it.
        ahead: Seconds by which the server's clock is ahead of the gateway's.
    """

    raw: bytes
    public: Ed25519PublicKey
    incarnation: str
    ahead: float


class Tickets:
    """The tickets that one server accepts.

    Args:
        clock: Monotonic time, in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._keys: dict[str, list[_Key]] = {}
        self._used: dict[bytes, tuple[int, int]] = {}
        #: Accepted tickets as they were sent, the one that was shown last at the end.
        self._known: dict[bytes, farm_pb2.Ticket] = {}

    def trust(self, gateway: str, key: bytes, incarnation: str, now: float) -> None:
        """Trusts tickets that a gateway signs with this key from now on.

        Args:
            gateway: The gateway.
            key: Its public key, 32 bytes; empty for a gateway that signs no tickets.
            incarnation: This run of the server.
            now: Time by the gateway's clock, in seconds.
        """
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        if len(key) != _KEY_BYTES:
            return
        public = Ed25519PublicKey.from_public_bytes(key)
        others = [each for each in self._keys.get(gateway, ()) if each.raw != key]
        trusted = _Key(key, public, incarnation, self._clock() - now)
        self._keys[gateway] = [*others, trusted][-_KEYS:]

    def read(self, signed: bytes) -> farm_pb2.Ticket:
        """Verifies a ticket's signature and that it is for this run of the server, but not whether it has expired.

        The expiry in the returned ticket is converted to this server's clock.

        Raises:
            FaultError: UNAUTHENTICATED: no trusted gateway signed the ticket.
        """
        known = self._known.pop(signed, None)
        ticket = self._known[signed] = known or self._verified(signed)
        if len(self._known) > _REMEMBERED:
            del self._known[next(iter(self._known))]
        return ticket

    def _verified(self, signed: bytes) -> farm_pb2.Ticket:
        from cryptography.exceptions import InvalidSignature

        try:
            parsed = farm_pb2.SignedTicket.FromString(signed)
            ticket = farm_pb2.Ticket.FromString(parsed.ticket)
        except DecodeError:
            raise _refusal("it cannot be read") from None
        for key in chain(*self._keys.values()):
            try:
                key.public.verify(parsed.signature, parsed.ticket)
            except InvalidSignature:
                continue
            if ticket.incarnation == key.incarnation:
                ticket.expires = math.ceil(ticket.expires + key.ahead)
                return ticket
        raise _refusal("no gateway that this server registered with signed it for this server")

    def check(self, ticket: farm_pb2.Ticket, request: pb.MakeRequest) -> None:
        """Refuses a Make that a ticket does not cover.

        Raises:
            FaultError: UNAUTHENTICATED.
        """
        if ticket.expires < self._clock():
            raise _refusal("it has expired")
        if ticket.env_id != request.env_id or ticket.make_digest != make_digest(request):
            raise _refusal("it is for another Make")

    def use(self, ticket: farm_pb2.Ticket) -> None:
        """Counts a session that is made with a ticket.

        Raises:
            FaultError: UNAUTHENTICATED: the ticket is used up.
        """
        now = self._clock()
        for nonce, (_, expires) in list(self._used.items()):
            if expires >= now:
                break
            del self._used[nonce]
        used, _ = self._used.get(ticket.nonce, (0, 0))
        if used >= ticket.count or ticket.expires < now:
            have = "has" if ticket.count == 1 else "have"
            raise _refusal(f"it was for {counted(ticket.count, 'session')}, which {have} been made")
        self._used[ticket.nonce] = used + 1, ticket.expires


def _refusal(why: str) -> FaultError:
    return FaultError(
        Reason.UNAUTHENTICATED,
        f"the ticket is not accepted: {why}; ask the gateway for another one, or make the environment through it",
    )
