"""Clients do without what a transport lacks, and a transport around another one lacks nothing."""

from __future__ import annotations

import pytest

from envwire.client import RemoteEnv, ServerUnavailableError, Transport
from envwire.client._drivers.failure_detection import FailureDetector
from envwire.client._drivers.watched import WatchedTransport
from envwire.server.inprocess import InProcessTransport

#: What is settled before a session is made, and so before its transport is watched.
BEFOREHAND = {"share", "watch_path", "compress", "front", "abilities"}


def test_a_client_does_without_what_its_transport_lacks() -> None:
    bare = InProcessTransport(["CartPole-v1"])
    with RemoteEnv(None, "CartPole-v1", transport=bare, liveness=5.0, compression="off") as env:
        env.reset(seed=1)
        assert len(list(env.step_ahead([0, 1, 0]))) == 3
    assert bare.probe(1.0)
    with pytest.raises(ServerUnavailableError, match="one request at a time"):
        bare.send_ahead(b"", 1.0)
    with pytest.raises(ServerUnavailableError, match="one request at a time"):
        bare.receive_ahead(1.0)


def test_a_watched_transport_lacks_nothing() -> None:
    methods = {name for name in vars(Transport) if not name.startswith("_")}
    assert methods - vars(WatchedTransport).keys() == BEFOREHAND
    watched = WatchedTransport(InProcessTransport(["CartPole-v1"]), FailureDetector())
    assert not watched.pipelines
    watched.interrupt()
    watched.close()
