"""The servers that a token with scope join may register in a farm, by id and by address."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True)
class ServerPatterns:
    """The servers that a token may register; without patterns, any.

    Attributes:
        servers: Patterns of ids, in which `*` stands for any characters.
        addresses: Patterns of HOST:PORT.
    """

    servers: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()

    def refusal(self, server_id: str, address: str) -> str:
        """Returns why a server may not be registered; "" if it may.

        Args:
            server_id: The id that the server registers with.
            address: HOST:PORT at which clients would reach it.
        """
        if not _is_listed(server_id, self.servers):
            return (
                f"a server with the id {server_id!r}; its token is for {' or '.join(self.servers)}"
            )
        if not _is_listed(address, self.addresses):
            return f"a server at {address}; its token is for {' or '.join(self.addresses)}"
        return ""


ANY_SERVER = ServerPatterns()


def _is_listed(value: str, patterns: tuple[str, ...]) -> bool:
    """Returns whether a pattern matches, or there is none. Brackets, as in IPv6 addresses, are literal."""
    escaped = (pattern.replace("[", "[[]") for pattern in patterns)
    return not patterns or any(fnmatchcase(value, pattern) for pattern in escaped)
