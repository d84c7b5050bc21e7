"""What a server says of itself when it joins a farm has bounds, and its address is HOST:PORT and nothing else."""

from __future__ import annotations

from collections.abc import Iterator

import grpc
import pytest

from envwire.farm.v1 import farm_pb2
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import specs_pb2
from tests.farm.scene import SECONDS, Gateway

_MIB = 1024 * 1024


@pytest.fixture(scope="module")
def gateway() -> Iterator[Gateway]:
    running = Gateway().start()
    yield running
    running.kill()


def refused(gateway: Gateway, *requests: farm_pb2.RegisterRequest) -> str:
    """Registers a server that is refused, and returns what it is told."""
    told = ended(gateway, *requests)
    assert not gateway.servers()
    return told


def ended(gateway: Gateway, *requests: farm_pb2.RegisterRequest) -> str:
    call = gateway.farm.Register(iter(requests), timeout=SECONDS)
    with pytest.raises(grpc.RpcError) as caught:
        for _ in call:
            pass
    return str(caught.value.details())


def hello(**fields: object) -> farm_pb2.RegisterRequest:
    info = pb.GetServerInfoResponse(max_sessions=1, incarnation="run")
    given = {"server_id": "false", "address": "127.0.0.1:1", "info": info, **fields}
    return farm_pb2.RegisterRequest(hello=farm_pb2.ServerHello(**given))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "address",
    ["unix:///tmp/x", "unix:1", "dns:///host:1", "10.1:1", "host", ":0"],
)
def test_an_address_is_host_and_port(gateway: Gateway, address: str) -> None:
    assert "HOST:PORT" in refused(gateway, hello(address=address))


@pytest.mark.parametrize(
    "fields",
    [
        {"server_id": "one\ntwo"},
        {"server_id": "one\x1b[2J"},
        {"server_id": "\u202eone"},
        {"address": "host:1\nready: evil:1"},
        {"server_id": "a" * 256},
        {"fingerprint": "a" * 256},
        {"labels": {"gpu": "a\n"}},
        {"labels": {"a" * 256: ""}},
        {"labels": {str(number): "" for number in range(1_001)}},
        {"info": pb.GetServerInfoResponse(max_sessions=2**32 - 1, incarnation="a")},
        {"info": pb.GetServerInfoResponse(max_sessions=1, incarnation="a", cpu_count=2**32 - 1)},
        {"info": pb.GetServerInfoResponse(max_sessions=1, incarnation="a" * 256)},
        {"info": pb.GetServerInfoResponse(max_sessions=1, incarnation="a", version="\n")},
        {"environments": [pb.EnvironmentListing(spec=specs_pb2.EnvSpec(id="a" * 256))]},
        {"environments": [pb.EnvironmentListing()] * 10_001},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_each_field_has_a_bound(gateway: Gateway, fields: dict[str, object]) -> None:
    assert "a hello" in refused(gateway, hello(**fields))


def test_a_huge_hello_is_refused_before_it_is_read(gateway: Gateway) -> None:
    assert "at most" in refused(gateway, hello(server_id="a" * 20 * _MIB))


@pytest.mark.parametrize("clients", [50_000, 10_000], ids=["message", "load"])
def test_a_huge_report_ends_the_registration(gateway: Gateway, clients: int) -> None:
    slots = {f"{number:0100}": 1 for number in range(clients)}
    load = farm_pb2.ServerLoad(client_slots=farm_pb2.ClientSlots(slots=slots))
    assert "at most" in ended(gateway, hello(), farm_pb2.RegisterRequest(load=load))


@pytest.mark.parametrize("field", ["active_sessions", "reserved_slots"])
def test_a_load_beyond_what_can_be_added_ends_the_registration(
    gateway: Gateway, field: str
) -> None:
    """With another server's it was beyond 32 bits, so that the gateway could neither be listed nor described."""
    load = farm_pb2.ServerLoad(**{field: 2**32 - 1})  # type: ignore[arg-type]
    assert "slots" in ended(gateway, hello(), farm_pb2.RegisterRequest(load=load))
