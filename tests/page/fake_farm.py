"""A farm of one machine's imagination: a gateway that lists servers in all states, and one with 10,000 sessions."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import grpc

from envwire.farm.v1 import farm_pb2, farm_pb2_grpc
from envwire.observe.v1 import observe_pb2 as pb
from envwire.observe.v1 import observe_pb2_grpc

SESSIONS = 10_000
ENV_ID = "<script>window.ran = 1</script>"
CLIENT = "<img src=x onerror='window.ran = 1'>"
_STATES = ("SUSPECT", "DEAD", "FREE")
_PART = 500


class Farm(farm_pb2_grpc.FarmServiceServicer, observe_pb2_grpc.ObserveServiceServicer):
    """Serves both services."""

    address = ""

    def ListServers(self, _: Any, __: Any) -> farm_pb2.ListServersResponse:
        servers = [
            farm_pb2.ServerStatus(address=self.address, state=farm_pb2.ServerStatus.STATE_DRAINING)
        ]
        for number, name in enumerate(_STATES):
            state = farm_pb2.ServerStatus.State.Value(f"STATE_{name}")
            address = f"127.0.0.1:{number + 1}"  # nothing listens there
            servers.append(farm_pb2.ServerStatus(address=address, state=state))
        return farm_pb2.ListServersResponse(servers=servers)

    def Watch(self, _: Any, context: grpc.ServicerContext) -> Iterator[pb.WatchResponse]:
        second = 0
        while context.is_active():
            second += 1
            yield pb.WatchResponse(server=_server(second))
            for first in range(0, SESSIONS, _PART):
                sessions = [_session(number, second) for number in range(first, first + _PART)]
                yield pb.WatchResponse(sessions=sessions)
            yield pb.WatchResponse(complete=True)
            time.sleep(1)

    def DescribeSession(self, request: Any, _: Any) -> pb.DescribeSessionResponse:
        return pb.DescribeSessionResponse(
            session=_session(0, 1),
            output=f"{ENV_ID}\n",
            events=[pb.SessionEvent(at=0.0, text=CLIENT)],
        )


def _server(second: int) -> pb.ServerStatus:
    return pb.ServerStatus(
        incarnation="0123456789abcdef",
        version="0.1.0",
        now=second,
        active_sessions=SESSIONS,
        max_sessions=20_000,
    )


def _session(number: int, second: int) -> pb.SessionStatus:
    return pb.SessionStatus(
        session_id=f"session-{number:05}",
        env_id=ENV_ID,
        client=CLIENT,
        state=pb.SessionStatus.STATE_IDLE,
        steps=second * (number + 1),
        serving=0.7 * second,
        stepping=0.6 * second,
    )


@contextmanager
def fake_farm() -> Iterator[str]:
    """Serves the farm; gives its address."""
    server = grpc.server(ThreadPoolExecutor(8))
    farm = Farm()
    farm_pb2_grpc.add_FarmServiceServicer_to_server(farm, server)
    observe_pb2_grpc.add_ObserveServiceServicer_to_server(farm, server)
    farm.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        yield farm.address
    finally:
        server.stop(0).wait()
