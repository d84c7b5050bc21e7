"""Offers a server to compress arrays, if they leave this machine."""

from __future__ import annotations

import contextlib
import socket

from envwire.client._transports.targets import ip_address_of
from envwire.v1 import direct_pb2
from envwire.wire.encodings import ENCODINGS, zstandard


def offer_encodings(
    hello: direct_pb2.HelloRequest, compression: str, connection: socket.socket
) -> None:
    """Names in a hello the encodings that this client can read, if they are to be used.

    Args:
        hello: Filled in place.
        compression: "auto": if the connection leaves this machine, and the server decides; "zstd"; "off".
        connection: A connected socket.
    """
    wanted = compression == "zstd" or (compression == "auto" and _leaves_this_machine(connection))
    if wanted and zstandard() is not None:
        hello.encodings.extend(ENCODINGS)
        hello.encode_always = compression == "zstd"


def _leaves_this_machine(connection: socket.socket) -> bool:
    if connection.family not in {socket.AF_INET, socket.AF_INET6}:
        return False
    with contextlib.suppress(OSError):
        ours, theirs = connection.getsockname()[0], connection.getpeername()[0]
        found = ip_address_of(theirs)
        return ours != theirs and not (found is not None and found.is_loopback)
    return False
