"""Watches servers as a program without envwire's client would."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import grpc
import pytest

from envwire.codec.errors.statuses import reason_of
from envwire.observe.v1 import observe_pb2 as pb
from envwire.observe.v1 import observe_pb2_grpc
from envwire.v1 import status_pb2


@contextmanager
def watching(target: str, method: str, request: Any, token: str = "") -> Iterator[Any]:
    """Calls a method of ObserveService; gives the stream of its answers, or its only answer."""
    metadata = (("authorization", f"Bearer {token}"),) if token else ()
    with grpc.insecure_channel(target) as channel:
        call = getattr(observe_pb2_grpc.ObserveServiceStub(channel), method)
        answer = call(request, timeout=60, metadata=metadata)
        try:
            yield answer
        finally:
            if hasattr(answer, "cancel"):
                answer.cancel()


def refused(target: str, method: str, request: Any, token: str = "") -> str:
    """Returns the reason why a method answers nothing."""
    with (
        pytest.raises(grpc.RpcError) as caught,
        watching(target, method, request, token) as answers,
    ):
        next(answers)
    details = dict(caught.value.trailing_metadata())["grpc-status-details-bin"]
    return reason_of(status_pb2.ErrorStatus.FromString(details)).value


def next_round(answers: Iterator[pb.WatchResponse]) -> pb.WatchResponse:
    """Returns a whole round in one message."""
    whole = pb.WatchResponse()
    while not whole.complete:
        whole.MergeFrom(next(answers))
    return whole


class Audience:
    """Looks at pictures of a session in a thread of its own."""

    def __init__(self, target: str, session_id: str) -> None:
        self.pictures: list[pb.WatchFramesResponse] = []
        self.seen = threading.Semaphore(0)
        request = pb.WatchFramesRequest(session_id=session_id)
        self._thread = threading.Thread(target=self._look, args=(target, request))
        self._thread.start()

    def _look(self, target: str, request: pb.WatchFramesRequest) -> None:
        with watching(target, "WatchFrames", request) as answers:
            for picture in answers:
                self.pictures.append(picture)
                self.seen.release()
                if len(self.pictures) == 3:
                    return

    @property
    def satisfied(self) -> bool:
        """Whether three pictures came."""
        return len(self.pictures) >= 3

    def join(self) -> None:
        """Waits until it has seen enough."""
        self._thread.join(60)
        assert not self._thread.is_alive()
