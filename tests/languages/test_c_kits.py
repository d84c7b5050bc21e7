"""The C header drives the environment kits: it knows no gRPC, and makes its sessions on the direct port."""

from __future__ import annotations

import grpc
import numpy as np
import pytest

from envwire.v1 import environment_pb2 as pb
from envwire.v1 import environment_pb2_grpc
from tests.languages.programs import LANGUAGES, kit, running

ENV_ID = "Conformance/Counter-v0"


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_episode(language: str) -> None:
    with kit(language) as served:
        with grpc.insecure_channel(served.target) as channel:
            stub = environment_pb2_grpc.EnvironmentServiceStub(channel)
            addresses = stub.Make(pb.MakeRequest(env_id=ENV_ID)).direct.addresses
        port = next(each for each in addresses if each.startswith(":"))[1:]
        with running("cpp", "rollout_c", "127.0.0.1", port, ENV_ID, "42") as process:
            output, _ = process.communicate("1\n0\n1\n", timeout=60)
    observations = [bytes.fromhex(line.split()[0]) for line in output.splitlines()[:-1]]
    assert [np.frombuffer(each, np.int64).tolist() for each in observations] == [
        [0, 0],
        [1, 1],
        [2, 1],
        [3, 2],
    ]
