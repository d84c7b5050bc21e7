"""The answer to a Make is lost on its way: it is asked for again, and there is one session."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from envwire.client import RemoteEnv, ServerUnavailableError
from envwire.client._transports.by_name import open_transport
from envwire.client._transports.transport import Transport
from envwire.server import Server
from envwire.v1 import environment_pb2 as pb
from envwire.wire.frames import Reply
from tests.faults.scene import active
from tests.forwarding import Forwarding


class Losing(Forwarding):
    """A transport that loses the first answers to Make, and forwards everything else.

    Args:
        transport: What it is around.
        losses: How many answers it loses.
    """

    def __init__(self, transport: Transport, losses: int) -> None:
        super().__init__(transport)
        self._losses = losses
        self.ids: list[bytes] = []

    def exchange(self, request: bytes, timeout: float, header: bytes = b"") -> Reply:
        reply = super().exchange(request, timeout, header)
        asked = pb.InteractRequest.FromString(request)
        if asked.HasField("make"):
            self.ids.append(asked.make.request_id)
            if len(self.ids) <= self._losses:
                broken = ServerUnavailableError("the connection broke")
                broken.connected = True
                raise broken
        return reply


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server(["CartPole-v1"], max_sessions=2) as server:
        yield server


@pytest.mark.parametrize("transport", ["unary", "stream", "direct"])
def test_a_make_whose_answer_is_lost_leaks_no_session(server: Server, transport: str) -> None:
    losing = Losing(open_transport(transport, server.target, 10.0), 3)
    env = RemoteEnv(None, "CartPole-v1", transport=losing)
    assert len(losing.ids) == 4
    assert len(set(losing.ids)) == 1
    assert len(losing.ids[0]) == 16
    assert active(server.target) == 1
    env.reset(seed=1)
    env.step(0)
    env.close()
    assert active(server.target) == 0


def test_each_make_has_an_id_of_its_own(server: Server) -> None:
    ids: list[bytes] = []
    for _ in range(3):
        losing = Losing(open_transport("stream", server.target, 10.0), 0)
        RemoteEnv(None, "CartPole-v1", transport=losing).close()
        ids += losing.ids
    assert len(set(ids)) == 3
