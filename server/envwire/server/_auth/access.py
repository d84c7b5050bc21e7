"""Identifies clients by token, certificate or address."""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import repeat

from envwire.codec import FaultError, Reason
from envwire.server._auth.client import FARM_PREFIX, TOKEN_PREFIX, Client
from envwire.server._auth.scopes import DEFAULT_SCOPES, LOCAL, PLAY_SCOPES, Scope
from envwire.server._auth.tickets import Tickets
from envwire.server._auth.tokens import Token, TokenFile
from envwire.server._settings.listening import Listening

_LOCAL = "of this machine"
_ASK_FOR_TOKENS = (
    "A server without a token file gives no more to anybody: start it with --tokens FILE; `envwire token NAME --scope "
    "SCOPE` makes a token and its line"
)


@dataclass(frozen=True)
class PeerIdentity:
    """What a client presents before it is identified.

    Attributes:
        address: Its address without the port; empty for a client on this machine.
        certificate: Subject of the certificate that TLS verified; empty for none.
        authorization: The authorization header, "Bearer ..."; empty for none.
        ticket: Ticket that a gateway signed for it; empty for none.
        reservation: Id of the slots that the server reserves for its Makes; empty for none.
        connection: Name of its connection, if that was forwarded; empty for others.
    """

    address: str = ""
    certificate: str = ""
    authorization: str = field(default="", repr=False)
    ticket: bytes = field(default=b"", repr=False)
    reservation: bytes = field(default=b"", repr=False)
    connection: str = ""


class Access:
    """Identifies clients, and admits those that the operator listed.

    With a token file each client needs a token; with a client CA, TLS has already required a certificate. Without a
    token file every client may play and observe; on a server that only this machine can reach, it has all scopes
    except admin.

    Args:
        config: Settings of the port.
        clock: Monotonic time, in seconds.
        known: Tokens in addition to those of the file.

    Attributes:
        asks_for_certificates: Whether TLS verifies certificates of clients.
        tickets: The tickets of a farm's gateways, which clients show in place of a token.
        on_identified: Called with the name of the connection whenever a peer is identified.
        on_answered: Called with the name of the connection when a check of the server's health is over, whoever asked.

    Raises:
        ValueError: The token file is invalid.
        OSError: The token file cannot be read.
    """

    def __init__(
        self,
        config: Listening,
        clock: Callable[[], float] = time.monotonic,
        known: tuple[Token, ...] = (),
    ) -> None:
        self._tokens = TokenFile(config.tokens, clock, known) if config.tokens else None
        self.asks_for_certificates = bool(config.tls_client_ca)
        self._scopes = LOCAL if config.loopback else DEFAULT_SCOPES
        self.tickets = Tickets()
        self.on_identified: Callable[[str], None] = lambda _: None
        self.on_answered: Callable[[str], None] = lambda _: None
        self._listed: tuple[Token, ...] = ()
        self._players: set[str] = set()

    def identify(self, peer: PeerIdentity) -> Client:
        """Returns the authenticated client.

        Raises:
            FaultError: UNAUTHENTICATED: the peer has no valid credentials.
        """
        client = self._by_ticket(peer.ticket) if peer.ticket else self._by_credentials(peer)
        self.on_identified(peer.connection)
        return client

    def _by_credentials(self, peer: PeerIdentity) -> Client:
        if self._tokens is not None:
            return _by_token(self._tokens, peer)
        certificate = peer.certificate
        name = (
            f"certificate {certificate}" if certificate else f"address {counted_as(peer.address)}"
        )
        return Client(name, self._scopes, _ASK_FOR_TOKENS, reservation=peer.reservation)

    def _by_ticket(self, signed: bytes) -> Client:
        """Returns a client by a gateway's ticket, under its token's name if this server's file has that token as well.

        Removing a token from the file ends its sessions, so a client that is not in the file needs a different name.
        """
        ticket = self.tickets.read(signed)
        name = ticket.principal
        known = self._tokens is not None and any(
            TOKEN_PREFIX + token.name == name for token in self._tokens.tokens()
        )
        return Client(
            name if known else FARM_PREFIX + name,
            frozenset({Scope.PLAY}),
            ticket=ticket,
            reservation=ticket.nonce,
        )

    def follow(self, peer: PeerIdentity) -> Callable[[], Client]:
        """Returns a function that identifies a client at each request, at no cost until the tokens change."""
        tokens, client = self._tokens, self.identify(peer)
        if tokens is None:
            return repeat(client).__next__  # in C: a stream calls it for each request
        valid = tokens.tokens()

        def identify() -> Client:
            nonlocal client, valid
            if tokens.tokens() is not valid:
                client, valid = self.identify(peer), tokens.tokens()
            return client

        return identify

    def revoked(self, name: str) -> bool:
        """Returns whether a client's token was removed from the file, or lost the scope to play."""
        if self._tokens is None or not name.startswith(TOKEN_PREFIX):
            return False
        tokens = self._tokens.tokens()
        if tokens is not self._listed:
            self._listed = tokens
            self._players = {
                TOKEN_PREFIX + token.name for token in tokens if token.scopes & PLAY_SCOPES
            }
        return name not in self._players


def _by_token(tokens: TokenFile, peer: PeerIdentity) -> Client:
    scheme, _, presented = peer.authorization.partition(" ")
    if scheme.lower() != "bearer":
        raise FaultError(
            Reason.UNAUTHENTICATED,
            "this server asks for a token; give Credentials(token=...), or set ENVWIRE_TOKEN. In other languages "
            "send the metadata 'authorization: Bearer TOKEN'",
        )
    token = tokens.find(presented.strip())
    if token is None:
        raise FaultError(
            Reason.UNAUTHENTICATED,
            "this server does not know the token; ask its operator for one (`envwire token NAME` makes it)",
        )
    return Client(
        TOKEN_PREFIX + token.name,
        token.scopes,
        servers=token.servers,
        reservation=peer.reservation,
        quota=token.quota,
    )


@lru_cache(4096)
def counted_as(address: str) -> str:
    """Returns the name under which the clients at an address are counted.

    The owner of an IPv6 network has 2**64 addresses, and a client on this machine has the Unix socket and all loopback
    addresses. Counted separately, a client would have the full limit at each address, and repeating a Make from
    another address would make a second session.
    """
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address or _LOCAL
    if isinstance(parsed, ipaddress.IPv6Address):
        parsed = parsed.ipv4_mapped or parsed
    if parsed.is_loopback:
        return _LOCAL
    if isinstance(parsed, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((parsed, 64), strict=False))
    return str(parsed)
