"""Frames that a session process reads on its link: client frames and control frames.

Each kind of frame has its own type, which determines what the process does. A client's message becomes a `ClientFrame`
whatever its bytes are; a direct channel carries nothing else.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from envwire.server._ipc.frames import Frame, FrameError, Kind

_SLOT: Final = struct.Struct("<I")
_TIME: Final = struct.Struct("<d")


# Not frozen: creating a frozen one takes 2,500 more instructions per request.
@dataclass(slots=True)
class ClientFrame:
    """A request from the session's client, which can do only what that client may do."""

    session: int
    message: bytes


@dataclass(frozen=True)
class MakeFrame:
    """Orders the environment of a new session, which the operator's lists allow.

    Attributes:
        session: The session's number.
        slot: Its row on the scoreboard.
        request: A MakeRequest.
    """

    session: int
    slot: int
    request: bytes


@dataclass(frozen=True)
class CopyFrame:
    """Turns the environment that this process was forked with into a session."""

    session: int


@dataclass(frozen=True)
class EndFrame:
    """Ends a session."""

    session: int


@dataclass(frozen=True)
class AckFrame:
    """Acknowledges a CLOSED frame."""

    session: int


@dataclass(frozen=True)
class DrainFrame:
    """Announces that the server is about to stop, for the clients on direct channels.

    Attributes:
        stops_at: When it stops, by this machine's monotonic clock, in seconds.
    """

    stops_at: float


@dataclass(frozen=True)
class RenderFrame:
    """Orders a picture of a session's environment for a watcher."""

    session: int


ControlFrame: TypeAlias = MakeFrame | CopyFrame | EndFrame | AckFrame | DrainFrame | RenderFrame
WorkerFrame: TypeAlias = ClientFrame | ControlFrame


def pack_make(slot: int, request: bytes) -> bytes:
    """Returns the message of a frame of kind MAKE."""
    return _SLOT.pack(slot) + request


def pack_drain(stops_at: float) -> bytes:
    """Returns the message of a frame of kind DRAIN."""
    return _TIME.pack(stops_at)


_READ: Final[dict[int, Callable[[int, bytes], WorkerFrame]]] = {
    Kind.CLIENT: ClientFrame,
    Kind.MAKE: lambda session, message: MakeFrame(
        session, _SLOT.unpack_from(message)[0], message[_SLOT.size :]
    ),
    Kind.COPY: lambda session, _: CopyFrame(session),
    Kind.END: lambda session, _: EndFrame(session),
    Kind.ACK: lambda session, _: AckFrame(session),
    Kind.DRAIN: lambda _, message: DrainFrame(_TIME.unpack(message)[0]),
    Kind.RENDER: lambda session, _: RenderFrame(session),
}


def read_worker_frame(frame: Frame) -> WorkerFrame:
    """Returns the typed form of a frame from the front.

    Raises:
        FrameError: The front does not send such frames.
    """
    kind, session, message = frame
    read = _READ.get(kind)
    if read is None:
        raise FrameError(f"a frame of kind {kind} is none of the front's")
    return read(session, message)
