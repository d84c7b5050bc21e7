"""Plays recorded requests to a new session and returns its answers."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from envwire.client._errors import checked
from envwire.client._transports.by_name import open_transport
from envwire.client._transports.transport import Transport, call
from envwire.server._ipc.refusals import SESSION_REQUESTS
from envwire.server._recording.reader import RecordingError
from envwire.v1 import environment_pb2 as pb

if TYPE_CHECKING:
    from envwire.server._recording.reader import Exchange, RecordedSession

_CONNECT_SECONDS, _MAKE_SECONDS = 5.0, 120.0


class Replayer:
    """A session that is made like a recorded one and gets the same requests.

    Args:
        transport: Transport to a server, or to environments in this process.
        make: The recorded Make.

    Raises:
        RemoteError: The environment cannot be made.
    """

    def __init__(self, transport: Transport, make: pb.MakeRequest) -> None:
        self._transport = transport
        self._sequence = 0
        made = checked(call(transport, pb.InteractRequest(make=make), _MAKE_SECONDS)).make
        self._header = pb.SessionHeader(session_id=made.session_id, secret=made.secret)
        self._seconds = made.step_timeout.ToSeconds() + 10.0

    def ask(self, request: pb.InteractRequest) -> pb.InteractResponse:
        """Sends a request under this session's next number and returns the response.

        Raises:
            RecordingError: It is not a request to a session.
        """
        kind = request.WhichOneof("request") or ""
        if kind not in SESSION_REQUESTS:
            raise RecordingError(
                "the recording has a request that no session serves: it is damaged, or of a later version"
            )
        asked = pb.InteractRequest()
        asked.CopyFrom(request)
        body: Any = getattr(asked, kind)
        self._sequence += 1
        body.header.CopyFrom(self._header)
        body.sequence = self._sequence
        return call(self._transport, asked, self._seconds)

    def close(self) -> None:
        """Closes the session, unless a played request has closed it."""
        self.ask(pb.InteractRequest(close=pb.CloseRequest()))


def replay_transport(target: str, make: pb.MakeRequest, imports: list[str]) -> Transport:
    """Returns a transport to the environment.

    Args:
        target: HOST:PORT of a server; empty for this process.
        make: The recorded Make.
        imports: Modules that register environments, for this process.

    Raises:
        ImportError: A module cannot be imported.
        LookupError: The environment is not registered in this process.
        RecordingError: It names a wrapper of another module.
        RemoteError: No server answers at the target.
    """
    if target:
        return open_transport("stream", target, _CONNECT_SECONDS)
    from envwire.server.cli._drive.in_process import in_process

    return in_process(make.env_id, imports, _imported_wrappers(make, imports))


def _imported_wrappers(make: pb.MakeRequest, imports: list[str]) -> list[str]:
    """Returns the wrappers of modules in `imports`; a recording may be a stranger's, and imports nothing by itself."""
    modules = {name if not name.endswith(".py") else Path(name).stem for name in imports}
    names = [wrapper.name for wrapper in make.wrappers if ":" in wrapper.name]
    for name in names:
        module = name.partition(":")[0]
        if module not in modules:
            raise RecordingError(
                f"the recording names the wrapper {name}; if you trust that module, add --import {module}"
            )
    return names


@contextlib.contextmanager
def replaying(transport: Transport, make: pb.MakeRequest) -> Generator[Replayer]:
    """Makes a session; closes it and the transport at the end.

    Raises:
        RemoteError: The environment cannot be made.
    """
    with contextlib.closing(transport), contextlib.closing(Replayer(transport, make)) as replayer:
        yield replayer


def requests(recording: RecordedSession) -> Iterator[tuple[pb.InteractRequest, Exchange]]:
    """Yields the requests to play; those of a Replay one by one, unless its members began at different positions."""
    replayed: list[tuple[pb.InteractRequest, Exchange]] = []
    for exchange in recording.exchanges():
        if exchange.replayed:
            replayed.append((exchange.request, exchange))
        elif exchange.kind != "replay":
            yield exchange.request, exchange
        elif exchange.request.replay.member_starts:
            whole = pb.InteractRequest()
            whole.CopyFrom(exchange.request)
            whole.replay.requests.extend(each.SerializeToString() for each, _ in replayed)
            yield whole, exchange
            replayed = []
        else:
            yield from replayed
            replayed = []
    yield from replayed
