"""The operator's lists: what may be passed, and with which values; what may be read, set and called."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from envwire.client import NotAllowedError, RemoteEnv
from envwire.codec import FaultError, Reason, encode_mapping
from envwire.server import Server, ServerConfig
from envwire.server._auth.allow_list import AllowList, read_allowed, read_rules
from envwire.server._auth.attribute_access import API_ATTRIBUTES, API_METHODS, AttributeAccess
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import values_pb2
from tests.conftest import ROOT

RULES = (
    "anything, slip:bool,size:int[2..16],low:int[-3..],gravity:float[1..20],ratio:float,"
    "label:str[..4],map_name:{4x4,8x8},skip:{1,2,4},seed:int[0..]?,mode:{a,b}?"
)
ALLOWED: list[tuple[str, Any]] = [
    ("anything", [1, {"two": 2}]),
    ("slip", True),
    ("slip", np.False_),
    ("size", 2),
    ("size", np.int64(16)),
    ("low", 10**30),
    ("gravity", 1),
    ("gravity", 20.0),
    ("gravity", np.float32(9.5)),
    ("ratio", float("inf")),
    ("label", "four"),
    ("map_name", "8x8"),
    ("skip", 4),
    ("seed", None),
    ("seed", 0),
    ("mode", None),
    ("mode", "b"),
]
REFUSED: list[tuple[str, Any]] = [
    ("slip", 1),
    ("slip", "yes"),
    ("slip", None),
    ("size", 1),
    ("size", 17),
    ("size", 2.0),
    ("size", True),
    ("size", None),
    ("size", [2]),
    ("low", -4),
    ("gravity", 0.5),
    ("gravity", 20.5),
    ("gravity", float("nan")),
    ("gravity", float("inf")),
    ("gravity", "9"),
    ("gravity", np.array(9.5)),
    ("ratio", 1j),
    ("label", "fives"),
    ("label", b"four"),
    ("map_name", "16x16"),
    ("map_name", ["4x4"]),
    ("skip", 3),
    ("skip", "1"),
    ("skip", True),
    ("seed", -1),
    ("mode", "c"),
]


def allow_list(*allow_kwargs: str, any_kwargs: bool = False) -> AllowList:
    return AllowList(any_kwargs, read_allowed(allow_kwargs))


def asked(**kwargs: Any) -> pb.MakeRequest:
    request = pb.MakeRequest(env_id="A-v0")
    encode_mapping(kwargs, request.kwargs)
    return request


@pytest.mark.parametrize(("name", "value"), ALLOWED)
def test_values_that_fit(name: str, value: Any) -> None:
    allow_list(f"A-v0={RULES}").check(asked(**{name: value}))


@pytest.mark.parametrize("any_kwargs", [False, True])
@pytest.mark.parametrize(("name", "value"), REFUSED)
def test_values_that_do_not(name: str, value: Any, any_kwargs: bool) -> None:
    with pytest.raises(FaultError, match=f"{name} of A-v0 must be") as refused:
        allow_list(f"A-v0={RULES}", any_kwargs=any_kwargs).check(asked(**{name: value}))
    assert refused.value.reason is Reason.KWARGS_NOT_ALLOWED


@pytest.mark.parametrize(
    ("rule", "reads"),
    [
        ("a:int[2..16]", "a whole number, at least 2, at most 16"),
        ("a:float[..0.5]?", "a number, at most 0.5, or None"),
        ("a:str[..4]", "a text, at most 4 characters"),
        ("a:{4x4,8x8}", "one of '4x4', '8x8'"),
        ("a", "anything"),
    ],
)
def test_rules_read_well(rule: str, reads: str) -> None:
    assert str(read_rules(rule)["a"]) == reads


@pytest.mark.parametrize(
    "text", ["a:", "a:number", "a:int[1-2]", "a:{}", "a b", ",a", "a:int[one..two]", "a:bool x"]
)
def test_rules_that_cannot_be_read(text: str) -> None:
    with pytest.raises(ValueError, match="cannot read"):
        allow_list(f"A-v0={text}")


def test_a_bomb_is_not_unpacked() -> None:
    request = pb.MakeRequest(env_id="A-v0")
    array = request.kwargs.entries.add(name="size").value.array
    array.data_type, array.fill = values_pb2.DATA_TYPE_FLOAT64, True
    array.shape.extend([2**20, 2**20])
    array.data = bytes(8)
    with pytest.raises(FaultError, match="must be a whole number"):
        allow_list("A-v0=size:int").check(request)


def test_a_name_of_another_kind_passes_by_no_rule() -> None:
    request = pb.MakeRequest(env_id="A-v0")
    entry = request.kwargs.entries.add()
    entry.other.string_value, entry.value.int_value = "size", 10**6
    with pytest.raises(FaultError) as refused:
        allow_list("A-v0=size:int[..9]", any_kwargs=True).check(request)
    assert refused.value.reason is Reason.INVALID_VALUE


@pytest.fixture(
    scope="module", params=[{"host": "0.0.0.0"}, {"public": True}], ids=["address", "option"]
)
def public(request: pytest.FixtureRequest) -> Iterator[str]:
    """Target of a server on every address of this machine, or of one on loopback that others reach by a proxy."""
    with Server(
        ["FrozenLake-v1", "CartPole-v1", "tests/*"],
        imports=["tests.hosted_envs"],
        sys_path=(ROOT,),
        **request.param,
        insecure=True,
        allow_kwargs=["FrozenLake-v1=map_name:{4x4,8x8},is_slippery:bool"],
        allow_attributes=["grav*"],
        allow_methods=["get_*"],
    ) as server:
        yield f"127.0.0.1:{server.target.rpartition(':')[2]}"


def test_a_public_server_takes_listed_values_only(public: str) -> None:
    RemoteEnv(public, "FrozenLake-v1", map_name="8x8", is_slippery=False).close()
    refused: list[dict[str, Any]] = [{"map_name": "16x16"}, {"is_slippery": 1}, {"desc": ["SG"]}]
    for kwargs in refused:
        with pytest.raises(NotAllowedError, match="--allow-kwargs"):
            RemoteEnv(public, "FrozenLake-v1", **kwargs)


@pytest.fixture
def cart(public: str) -> Iterator[Any]:
    env = RemoteEnv(public, "CartPole-v1")
    env.reset(seed=1)
    yield env
    assert env.step(0)[4] == {}, "a refusal costs nothing"
    env.close()


def test_attributes_of_a_public_server(cart: Any) -> None:
    assert cart.get_wrapper_attr("gravity") == 9.8
    assert cart.set_wrapper_attr("gravity", 1.0)
    assert cart.np_random.integers(10) >= 0
    assert not cart.has_wrapper_attr("masscart"), "what is not listed is not there"
    with pytest.raises(NotAllowedError, match="--allow-attribute masscart"):
        cart.get_wrapper_attr("masscart")
    for name in ("masscart", "metadata", "unwrapped", "new"):
        with pytest.raises(NotAllowedError, match=f"--allow-attribute {name}"):
            cart.set_wrapper_attr(name, 1)
    cart.unwrapped.gravity = 2.0
    assert cart.gravity == 2.0
    for name in ("masscart", "_max_episode_steps"):
        with pytest.raises(NotAllowedError, match=f"--allow-attribute {name}"):
            setattr(cart, name, 1)
        with pytest.raises(AttributeError, match=f"--allow-attribute {name}"):
            getattr(cart, name)


@pytest.mark.parametrize("name", ["set_wrapper_attr", "step", "close", "__init__", "__class__"])
def test_methods_of_a_public_server(cart: Any, name: str) -> None:
    with pytest.raises(NotAllowedError):
        cart._call_method(name)


def test_listed_methods_of_a_public_server(cart: Any) -> None:
    assert cart._call_method("get_wrapper_attr", "gravity") == 9.8


@pytest.mark.parametrize("host", ["127.0.0.1", "192.0.2.1"])
def test_names_that_lead_everywhere_are_not_the_apis(host: str) -> None:
    attribute_access = AttributeAccess.of(ServerConfig(("A",), host=host, insecure=True))
    for name in ("get_wrapper_attr", "set_wrapper_attr", "call", "set_attr", "unwrapped"):
        assert name not in {*API_ATTRIBUTES, *API_METHODS}
        assert attribute_access.sees(name) is (host == "127.0.0.1")
    for name in API_ATTRIBUTES:
        attribute_access.check_read(name)
    for name in API_METHODS:
        attribute_access.check_call(name)
