"""A proxy stops without output, in any state of its connections."""

from __future__ import annotations

import socket
import threading

import pytest

from envwire.conformance.proxy import Behaviour, Upstream
from envwire.conformance.proxy.backend import Backend
from envwire.conformance.proxy.direct_port import DirectPort
from envwire.conformance.raw.direct_link import PREAMBLE, frame
from envwire.v1 import direct_pb2
from envwire.v1 import environment_pb2 as pb


class Late(Behaviour):
    """Forwards a request on command."""

    def __init__(self) -> None:
        self.arrived, self.told = threading.Event(), threading.Event()
        self.thread = threading.current_thread()

    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        self.thread = threading.current_thread()
        self.arrived.set()
        self.told.wait()
        return upstream.forward(request)


def test_a_connection_that_is_late_ends_with_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    raised: list[object] = []
    monkeypatch.setattr(threading, "excepthook", raised.append)
    behaviour = Late()
    backend = Backend("127.0.0.1:1", behaviour)
    port = DirectPort(backend)
    port.start()
    with socket.create_connection(("127.0.0.1", port.port)) as connection:
        connection.sendall(PREAMBLE + frame(direct_pb2.HelloRequest()))
        behaviour.arrived.wait()
        port.stop()
        backend.close()
        behaviour.told.set()
        behaviour.thread.join()
    assert not raised
