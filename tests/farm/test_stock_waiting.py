"""What a Make that waits for its group looks like to a stock gRPC client: an answer, or a status that says why."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from envwire.v1 import environment_pb2, environment_pb2_grpc
from tests.farm.on_demand import SECONDS, OnDemand, on_demand

FILE = """
[groups.slow]
environments = ["CartPole-v1"]
imports = ["licence"]
"""
#: A server that starts once its licence is there.
MODULE = """
import pathlib, time

while not pathlib.Path(__file__).with_name("here").exists():
    time.sleep(0.05)
"""


@pytest.fixture
def farm(tmp_path: Path) -> Iterator[OnDemand]:
    (tmp_path / "farm.toml").write_text(FILE)
    (tmp_path / "licence.py").write_text(MODULE)
    with on_demand(tmp_path / "farm.toml") as running:
        yield running
        (tmp_path / "here").touch()


def test_it_waits_for_its_server_or_is_told_why_before_its_own_deadline(
    farm: OnDemand, tmp_path: Path
) -> None:
    request = environment_pb2.MakeRequest(env_id="CartPole-v1")
    with grpc.insecure_channel(farm.target) as channel:
        stub = environment_pb2_grpc.EnvironmentServiceStub(channel)
        with pytest.raises(grpc.RpcError) as caught:
            stub.Make(request, timeout=5)
        error = caught.value
        assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert "group 'slow': its first server is starting" in error.details()
        status = rpc_status.from_call(error)
        details = {each.TypeName(): each for each in status.details}
        retry = error_details_pb2.RetryInfo()
        assert details["google.rpc.RetryInfo"].Unpack(retry)
        assert retry.retry_delay.ToSeconds() == 1
        waiting = stub.Make.future(request, timeout=SECONDS)
        farm.until(lambda: farm.groups()["slow"].waiting == 1)
        assert not waiting.done()
        (tmp_path / "here").touch()
        assert waiting.result(SECONDS).session_id
