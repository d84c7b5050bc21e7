"""Frames that a session process reads on its link: client frames and control frames.

Each kind of frame is a type of its own, and what a process does follows from the type. A client's message becomes a
`ClientFrame` whatever its bytes are; on a direct channel there is nothing else.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from envwire.server._ipc.frames import Frame, FrameError, Kind

_SLOT: Final = struct.Struct("<I")
_TIME: Final = struct.Struct("<d")


@dataclass(
    slots=True
)  # not frozen: creating a frozen one takes 2,500 instructions more, at each request
class ClientFrame:
    """A request of the session's client. It can do nothing but what that client may do."""

    session: int
    message: bytes


@dataclass(frozen=True)
class MakeFrame:
    """Makes the environment of a new session; the operator's lists allow it.

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
    """Makes the environment that this process was forked with a session."""

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
    """Tells that the server is about to stop, which clients on direct channels are to learn.

    Attributes:
        stops_at: When, by this machine's monotonic clock, in seconds.
    """

    stops_at: float


@dataclass(frozen=True)
class RenderFrame:
    """Takes a picture of a session's environment, for a watcher."""

    session: int


ControlFrame: TypeAlias = MakeFrame | CopyFrame | EndFrame | AckFrame | DrainFrame | RenderFrame
WorkerFrame: TypeAlias = ClientFrame | ControlFrame


def pack_make(slot: int, request: bytes) -> bytes:
    """Returns the message of a frame of kind MAKE."""
    return _SLOT.pack(slot) + request


def pack_drain(stops_at: float) -> bytes:
    """Returns the message of a frame of kind DRAIN."""
    return _TIME.pack(stops_at)


def _read_make(session: int, message: bytes) -> MakeFrame:
    return MakeFrame(session, _SLOT.unpack_from(message)[0], message[_SLOT.size :])


_READ: Final[dict[int, Callable[[int, bytes], WorkerFrame]]] = {
    Kind.CLIENT: ClientFrame,
    Kind.MAKE: _read_make,
    Kind.COPY: lambda session, _: CopyFrame(session),
    Kind.END: lambda session, _: EndFrame(session),
    Kind.ACK: lambda session, _: AckFrame(session),
    Kind.DRAIN: lambda _, message: DrainFrame(_TIME.unpack(message)[0]),
    Kind.RENDER: lambda session, _: RenderFrame(session),
}


def read_worker_frame(frame: Frame) -> WorkerFrame:
    """Returns what the front sent.

    Raises:
        FrameError: The front sends no such frame.
    """
    kind, session, message = frame
    read = _READ.get(kind)
    if read is None:
        raise FrameError(f"a frame of kind {kind} is none of the front's")
    return read(session, message)
