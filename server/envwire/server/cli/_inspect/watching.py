"""Streams from a server for commands: rounds of its status, and pictures of a session."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

from envwire.server.cli._inspect.asking import asking

if TYPE_CHECKING:
    from envwire.observe.v1 import observe_pb2


def rounds(command: str, target: str, period: float = 1.0) -> Generator[observe_pb2.WatchResponse]:
    """Yields each round of a server's status as one message. An error is printed and ends the command.

    Args:
        command: The command's name.
        target: HOST:PORT.
        period: Seconds between two rounds.
    """
    from envwire.codec.durations import to_duration
    from envwire.observe.v1 import observe_pb2, observe_pb2_grpc

    request = observe_pb2.WatchRequest(period=to_duration(period))
    with asking(command, target, observe_pb2_grpc.ObserveServiceStub, seconds=None) as ask:
        whole = observe_pb2.WatchResponse()
        for part in ask("Watch", request):
            whole.MergeFrom(part)
            if part.complete:
                yield whole
                whole = observe_pb2.WatchResponse()


def pictures(
    command: str, target: str, session_id: str
) -> Generator[observe_pb2.WatchFramesResponse]:
    """Yields pictures of a session until it ends. An error is printed and ends the command.

    Args:
        command: The command's name.
        target: HOST:PORT.
        session_id: The session.
    """
    from envwire.observe.v1 import observe_pb2, observe_pb2_grpc

    request = observe_pb2.WatchFramesRequest(session_id=session_id)
    with asking(command, target, observe_pb2_grpc.ObserveServiceStub, seconds=None) as ask:
        yield from ask("WatchFrames", request)
