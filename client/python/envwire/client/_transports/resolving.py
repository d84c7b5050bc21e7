"""Resolves names of hosts, and connects, within a time limit, which the system's resolver does not have."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Sequence
from queue import Empty, SimpleQueue
from typing import Any

#: As of `socket.getaddrinfo`: family, type, protocol, canonical name, address.
Found = tuple[socket.AddressFamily, socket.SocketKind, int, str, tuple[Any, ...]]


def resolve(host: str, port: int, timeout: float) -> Sequence[Found]:
    """Returns the addresses of a host, in the resolver's order.

    Args:
        host: A name, or an address, which needs no resolver.
        port: The port.
        timeout: Seconds to wait for the resolver.

    Raises:
        OSError: There is none, or the resolver does not answer in time.
    """
    try:
        return _ask(host, port, socket.AI_NUMERICHOST)
    except socket.gaierror:
        pass
    answers: SimpleQueue[Sequence[Found] | OSError] = SimpleQueue()

    def ask() -> None:
        try:
            answers.put(_ask(host, port))
        except (OSError, UnicodeError) as error:  # a label of more than 63 characters
            answers.put(error if isinstance(error, OSError) else OSError(f"{host!r}: {error}"))

    threading.Thread(target=ask, name="envwire-resolver", daemon=True).start()
    try:
        found = answers.get(timeout=timeout)
    except Empty:
        raise TimeoutError(f"no resolver answers for {host} within {timeout:.3g} s") from None
    if isinstance(found, OSError):
        raise found
    return found


def connect(host: str, port: int, timeout: float) -> socket.socket:
    """Connects to the first address of a host that answers, as `socket.create_connection`, but in one time limit.

    Raises:
        OSError: None answers in time.
    """
    end = time.monotonic() + timeout
    failure: OSError = TimeoutError("timed out")
    for *_, address in resolve(host, port, timeout):
        if (left := end - time.monotonic()) <= 0:
            break
        try:
            return socket.create_connection((address[0], port), left)
        except OSError as error:
            failure = error
    raise failure


def _ask(host: str, port: int, flags: int = 0) -> Sequence[Found]:
    return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=flags)
