"""The checks of `envwire doctor`, in the order in which a client depends on them; the first failure ends them."""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from envwire.client import Credentials, RemoteEnv
from envwire.client._errors import checked
from envwire.client._transports.by_name import open_transport
from envwire.client._transports.direct.direct import DirectTransport
from envwire.client._transports.transport import Transport, call
from envwire.server._grammar import counted
from envwire.server.cli._drive.measuring import median_step
from envwire.server.cli._failures import describe_error, of_the_server
from envwire.v1 import environment_pb2 as pb
from envwire.wire.version import __version__

_SECONDS = 5.0
_CALLS = 20
_STEPS = 200
_USUAL = "CartPole-v1"
_ASK_INFO = pb.InteractRequest(get_server_info=pb.GetServerInfoRequest())


class DoctorWarning(Exception):  # noqa: N818 - not an error: the check passed
    """A check passed, but could do better; the text says what to do."""


@dataclass
class CheckedServer:
    """The server to check, and what is known of it so far.

    Attributes:
        target: HOST:PORT.
        env_id: Id of the environment to step; empty for any that it hosts.
        credentials: The client's credentials.
        control: An open connection.
        info: The server's description of itself.
    """

    target: str
    env_id: str
    credentials: Credentials
    control: Transport | None = None
    info: pb.GetServerInfoResponse = field(default_factory=pb.GetServerInfoResponse)

    def ask(self, request: pb.InteractRequest) -> pb.InteractResponse:
        """Sends a request and returns the answer.

        Raises:
            RemoteError: The server refuses the request.
        """
        assert self.control is not None  # noqa: S101 - `_reachable` comes first
        return checked(call(self.control, request, _SECONDS))

    def close(self) -> None:
        """Closes the connection."""
        if self.control is not None:
            self.control.close()


def diagnose(server: CheckedServer) -> Iterator[tuple[str, bool | None, str]]:
    """Yields for each check its name, whether it passed (None: could be better), and what was found or what to do."""
    for name, check in _CHECKS.items():
        passed, text = _result(check, server)
        yield name, passed, text
        if passed is False:
            return


def _result(
    check: Callable[[CheckedServer], str], server: CheckedServer
) -> tuple[bool | None, str]:
    try:
        return True, check(server)
    except DoctorWarning as warning:
        return None, str(warning)
    except Exception as error:
        return False, describe_error(error) if of_the_server(error) else str(error)


def _reachable(server: CheckedServer) -> str:
    begun = time.perf_counter()
    server.control = open_transport("unary", server.target, None, server.credentials)
    return f"answers after {1e3 * (time.perf_counter() - begun):.0f} ms"


def _security(server: CheckedServer) -> str:
    tls = "TLS" if server.credentials.secure else "in the clear"
    token = "with a token" if server.credentials.metadata else "without a token"
    server.info = server.ask(_ASK_INFO).get_server_info
    return f"{tls}, {token}"


def _versions(server: CheckedServer) -> str:
    libraries = ", ".join(
        f"{each.name} {each.version}" + f" (group {each.group})" * bool(each.group)
        for each in server.info.libraries
    )
    return f"server {server.info.version}, this client {__version__}; environments of {libraries}"


def _room(server: CheckedServer) -> str:
    info = server.info
    if info.draining:
        raise ConnectionError(
            "it is being stopped and takes no new sessions; use another server, or wait"
        )
    sessions = f"{info.active_sessions} of {info.max_sessions} sessions in use"
    if info.active_sessions >= info.max_sessions:
        raise DoctorWarning(
            f"{sessions}: close some, or raise --max-sessions; --queue lets clients wait"
        )
    return f"{sessions}, {counted(info.cpu_count, 'processor')}"


def _environments(server: CheckedServer) -> str:
    request = pb.InteractRequest(list_environments=pb.ListEnvironmentsRequest())
    ids = [each.spec.id for each in server.ask(request).list_environments.environments]
    if not server.env_id:
        server.env_id = _USUAL if _USUAL in ids else next(iter(ids), "")
    elif server.env_id not in ids:
        raise LookupError(
            f"{len(ids)}, and {server.env_id!r} is none of them; `envwire list` shows them"
        )
    return f"{len(ids)}; {server.env_id} is used here (--env-id takes another)"


def _direct(server: CheckedServer) -> str:
    transport = open_transport("direct", server.target, None, server.credentials)
    with contextlib.closing(RemoteEnv(server.target, server.env_id, transport=transport)) as env:
        env.reset()
        assert isinstance(transport, DirectTransport)  # noqa: S101 - requested by name
        if transport.address:
            kind = "Unix socket" if transport.address.startswith("unix") else "TCP"
            address = transport.address.rstrip("-")  # its name is padded with dashes
            return f"in use: {kind}, {address}"
        raise DoctorWarning(
            f"not in use, so steps take the slower gRPC stream: {transport.why_not or 'refused'}. Give the server "
            "--direct-port N, and open that port in the firewall or publish it from the container"
        )


def _device(server: CheckedServer) -> str:
    transport = open_transport("direct", server.target, None, server.credentials)
    assert isinstance(transport, DirectTransport)  # noqa: S101 - requested by name
    made = RemoteEnv(server.target, server.env_id, transport=transport, device="cuda")
    with contextlib.closing(made):
        device = transport.device
        if device is None or not device.shares:
            why = "" if device is None else device.why_not
            return f"pass through the host, also with device=: {why}"
        return "stay on the GPU with device=: its memory is shared with sessions"


def _latency(server: CheckedServer) -> str:
    times: list[float] = []
    for _ in range(_CALLS):
        begun = time.perf_counter()
        server.ask(_ASK_INFO)
        times.append(time.perf_counter() - begun)
    unary = 1e6 * statistics.median(times)
    env = RemoteEnv(server.target, server.env_id, credentials=server.credentials)
    with contextlib.closing(env):
        step = median_step(env, _STEPS)
    return (
        f"{unary:,.0f} us for a gRPC call, {step:,.0f} us for a step of {server.env_id} (medians)"
    )


_CHECKS: dict[str, Callable[[CheckedServer], str]] = {
    "reachable": _reachable,
    "security": _security,
    "versions": _versions,
    "room": _room,
    "environments": _environments,
    "direct channel": _direct,
    "arrays of GPUs": _device,
    "latency": _latency,
}
