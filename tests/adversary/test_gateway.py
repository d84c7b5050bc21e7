"""A client of a farm does not fill its gateway's memory with what that remembers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import grpc
import pytest

from envwire.farm.v1 import farm_pb2
from envwire.v1 import environment_pb2 as pb
from tests.adversary.client import refused
from tests.farm.scene import Gateway

LONG = 2**20 - 2**10


@pytest.fixture(scope="module")
def gateway() -> Iterator[Gateway]:
    gateway = Gateway().start()
    yield gateway
    gateway.kill()


def long_request_id(gateway: Gateway) -> Any:
    return gateway.environments.Make, pb.MakeRequest(env_id="x", request_id=bytes(LONG))


def long_env_id(gateway: Gateway) -> Any:
    return gateway.environments.Make, pb.MakeRequest(env_id=LONG * "x")


def long_allocation(gateway: Gateway) -> Any:
    return gateway.farm.Allocate, farm_pb2.AllocateRequest(count=1, env_id=LONG * "x")


def long_label(gateway: Gateway) -> Any:
    labels = {"kind": LONG * "x"}
    return gateway.farm.Allocate, farm_pb2.AllocateRequest(count=1, env_id="x", labels=labels)


def many_labels(gateway: Gateway) -> Any:
    labels = {f"{number}": "x" for number in range(1001)}
    return gateway.farm.Allocate, farm_pb2.AllocateRequest(count=1, env_id="x", labels=labels)


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (long_request_id, "MALFORMED_REQUEST"),
        (long_env_id, "INVALID_VALUE"),
        (long_allocation, "MALFORMED_REQUEST"),
        (long_label, "MALFORMED_REQUEST"),
        (many_labels, "MALFORMED_REQUEST"),
    ],
)
def test_what_is_remembered_has_bounds(gateway: Gateway, asked: Any, reason: str) -> None:
    """Of 10,000 ids of environments, and 65,000 of Makes, the gateway knows which were asked for."""
    method, request = asked(gateway)
    with pytest.raises(grpc.RpcError) as caught:
        method(request, timeout=30.0)
    assert refused(caught.value).reason == reason
    assert len(caught.value.details()) < 1000
