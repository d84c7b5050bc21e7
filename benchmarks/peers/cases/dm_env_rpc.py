"""dm_env_rpc: its own connection and adaptor, with a thread-pool server, which its package leaves to users."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import grpc
import numpy as np
from dm_env_rpc.v1 import connection, dm_env_adaptor, spec_manager
from dm_env_rpc.v1 import dm_env_rpc_pb2 as pb
from dm_env_rpc.v1 import dm_env_rpc_pb2_grpc as pb_grpc

from benchmarks.peers.setup import Setup, Step

OPTIONS = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
TYPES = {"float32": pb.DataType.FLOAT, "uint8": pb.DataType.UINT8}


class Sized(pb_grpc.EnvironmentServicer):
    """A world with the trivial environment, for one client."""

    def __init__(self, setup: Setup) -> None:
        observation = pb.TensorSpec(name="observation", shape=setup.shape, dtype=TYPES[setup.dtype])
        self._specs = pb.ActionObservationSpecs(
            actions={1: pb.TensorSpec(name="action", dtype=pb.DataType.INT64)},
            observations={
                1: observation,
                2: pb.TensorSpec(name="reward", dtype=pb.DataType.DOUBLE),
            },
        )
        self._actions = spec_manager.SpecManager(self._specs.actions)
        self._observations = spec_manager.SpecManager(self._specs.observations)
        self._seen = {"observation": np.zeros(setup.shape, setup.dtype), "reward": 1.0}
        self._handlers: dict[str, Callable[[Any], Any]] = {
            "create_world": lambda _: pb.CreateWorldResponse(world_name="world"),
            "join_world": lambda _: pb.JoinWorldResponse(specs=self._specs),
            "reset": lambda _: pb.ResetResponse(specs=self._specs),
            "step": self._step,
        }

    def _step(self, request: Any) -> Any:
        self._actions.unpack(request.actions)
        packed = self._observations.pack(self._seen)
        wanted = {uid: packed[uid] for uid in request.requested_observations}
        return pb.StepResponse(state=pb.EnvironmentStateType.RUNNING, observations=wanted)

    def Process(self, request_iterator: Iterator[Any], context: Any) -> Iterator[Any]:  # noqa: N802
        """Answers the requests of one client."""
        del context
        for request in request_iterator:
            kind = request.WhichOneof("payload")
            reply = self._handlers[kind](getattr(request, kind))
            yield pb.EnvironmentResponse(**{kind: reply})


def serve(setup: Setup, announce: Callable[[int], None]) -> None:
    """Serves the trivial environment; each client holds a thread."""
    server = grpc.server(ThreadPoolExecutor(setup.clients + 1), options=OPTIONS)
    pb_grpc.add_EnvironmentServicer_to_server(Sized(setup), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    announce(port)
    server.wait_for_termination()


@contextmanager
def connect(setup: Setup, port: int) -> Generator[Step]:
    """Yields one step."""
    del setup
    options = [*OPTIONS, ("grpc.use_local_subchannel_pool", 1)]
    with (
        grpc.insecure_channel(f"127.0.0.1:{port}", options) as channel,
        connection.Connection(channel) as link,
    ):
        env, _ = dm_env_adaptor.create_and_join_world(link, {}, {})
        env.reset()
        action = {"action": 0}
        yield lambda: env.step(action)
