"""Exceptions for failed connections: what happened, to which server, and what to do about it."""

from __future__ import annotations

import re

from envwire.client.errors import InvalidRequestError, RequestTimeoutError, ServerUnavailableError
from envwire.codec import Reason

#: A hint for servers elsewhere: such a path lets connections open, and small requests pass.
_LOST_ON_THE_WAY = (
    ". If small answers arrive and large ones never do, the network loses packets of full size: lower the MTU of the "
    "interface, as docs/wide-area.md says"
)
#: The names of this machine and its sockets.
_HERE = re.compile(r"\b(localhost|127(\.\d+){3}|unix(-abstract)?):|\[::1\]:")


def unavailable(
    text: str, advice: str = "", *, connected: bool = False, refused: bool = False
) -> ServerUnavailableError:
    """Returns the exception for a failure, with what is known of the connection (see `ServerUnavailableError`)."""
    error = ServerUnavailableError(text, advice)
    error.connected, error.refused = connected, refused
    return error


def refused(target: str, question: str = "", advice: str = "") -> ServerUnavailableError:
    """Returns the exception for an address that refuses connections."""
    return unavailable(f"nothing listens at {target}{question}", advice, refused=True)


def nothing_listens(target: str) -> ServerUnavailableError:
    """Returns the exception for a first connection that is refused."""
    return refused(
        target,
        "; is the server running (envwire serve ...), and is the port right?",
        " For a server that is about to start, connect_timeout= says how many seconds to wait",
    )


def unavailable_through(variable: str, target: str, details: str) -> ServerUnavailableError:
    """Returns the exception for a connection that a proxy does not make, which says nothing about the server.

    Args:
        variable: The environment variable that names the proxy. Its value may hold a password.
        target: The server.
        details: gRPC's description of the failure.
    """
    return unavailable(
        f"no connection to {target} through the proxy that the variable {variable} names: {details}",
        f"; correct {variable}, list the host in no_proxy, or leave out http_proxy=True (ENVWIRE_HTTP_PROXY) to "
        "connect without a proxy",
    )


def broken(text: str) -> ServerUnavailableError:
    """Returns the exception for a connection that was established and broke."""
    return unavailable(text, connected=True)


def server_gone(
    label: str, seconds: float, failure: ServerUnavailableError, *, others: bool
) -> ServerUnavailableError:
    """Returns the exception for a session whose server has stopped: its address refuses connections.

    Args:
        label: Names the session.
        seconds: For how long it was tried.
        failure: The last failure.
        others: Whether the session may be made on another server.
    """
    advice = (
        "; another server can make it anew"
        if others
        else ". Once it runs again (envwire serve ...), reset() makes the environment anew; on_lost='replay' goes on "
        "at another server of a list or a farm"
    )
    return unavailable(
        f"{label}: {failure} any more, tried for {seconds:.1f} s. The server was stopped or crashed, and the "
        "environment with it",
        advice,
        refused=True,
    )


def server_unreachable(
    label: str, seconds: float, lease: float, failure: ServerUnavailableError
) -> ServerUnavailableError:
    """Returns the exception for a session whose server cannot be reached, though it may still run."""
    return ServerUnavailableError(
        f"{label}: {failure}. No connection could be made for {seconds:.1f} s",
        f"; the server keeps the environment for {lease:g} s (lease=). Try again before that is over, or call reset() "
        "when the server can be reached",
    )


def server_dead() -> ServerUnavailableError:
    """Returns the exception for a session whose server is known to be dead."""
    error = ServerUnavailableError("the gateway says that the server of the session is dead")
    error.silent = True
    return error


def no_answer(target: str, timeout: float) -> ServerUnavailableError:
    """Returns the exception for a first connection that gets no answer in time."""
    return ServerUnavailableError(
        f"no server answers at {target} within {timeout:g} s; is it running (envwire serve ...), and is the address "
        "right?"
    )


def timed_out(target: str, timeout: float, connections: int = 1) -> RequestTimeoutError:
    """Returns the exception for a reply that did not arrive in time.

    Args:
        target: The server, or the session.
        timeout: Seconds that were waited in all.
        connections: On how many connections.
    """
    times = f", on {connections} connections" if connections > 1 else ""
    hint = "" if _HERE.search(target) else _LOST_ON_THE_WAY
    return RequestTimeoutError(
        f"no answer from {target} within {timeout:.3g} s{times}; the request may have been served all the same",
        f". Give RemoteEnv a longer timeout=, or look at what the environment does there{hint}",
    )


def too_large(target: str, details: str) -> InvalidRequestError:
    """Returns the exception for a message that exceeds the server's limit."""
    error = InvalidRequestError(
        f"a message to {target} was too large ({details}); the server's operator raises the limit with "
        "--max-message-bytes"
    )
    error.reason = Reason.MESSAGE_TOO_LARGE.value
    return error
