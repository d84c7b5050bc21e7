"""A Make asks for no more than any environment needs, and for nothing that is slow to refuse."""

from __future__ import annotations

import pytest

from envwire.codec import FaultError, Reason
from envwire.server._front.makes.request_size import (
    MAX_KWARGS,
    MAX_NAME_CHARACTERS,
    MAX_WRAPPERS,
    check_bounds,
)
from envwire.server._ipc.refusals import unknown_environment
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import values_pb2


def names(count: int) -> values_pb2.ValueMap:
    return values_pb2.ValueMap(
        entries=[values_pb2.ValueEntry(name=f"a{number}") for number in range(count)]
    )


def wrapped(count: int, **fields: object) -> pb.MakeRequest:
    return pb.MakeRequest(wrappers=[pb.WrapperRequest(**fields)] * count)  # type: ignore[arg-type]


@pytest.mark.parametrize("over", [0, 1])
@pytest.mark.parametrize(
    "make",
    [
        lambda over: pb.MakeRequest(env_id="é" * (MAX_NAME_CHARACTERS + over)),
        lambda over: pb.MakeRequest(library="x" * (MAX_NAME_CHARACTERS + over)),
        lambda over: pb.MakeRequest(prefer="x" * (MAX_NAME_CHARACTERS + over)),
        lambda over: pb.MakeRequest(render_mode="x" * (MAX_NAME_CHARACTERS + over)),
        lambda over: pb.MakeRequest(kwargs=names(MAX_KWARGS + over)),
        lambda over: wrapped(MAX_WRAPPERS + over),
        lambda over: wrapped(1, name="x" * (MAX_NAME_CHARACTERS + over)),
        lambda over: wrapped(1, kwargs=names(MAX_KWARGS + over)),
    ],
    ids=["id", "library", "prefer", "mode", "kwargs", "wrappers", "wrapper", "wrapper's kwargs"],
)
def test_bounds(make: object, over: int) -> None:
    request = make(over)  # type: ignore[operator]
    if not over:
        check_bounds(request)
        return
    with pytest.raises(FaultError, match="a Make has at most") as refused:
        check_bounds(request)
    assert refused.value.reason is Reason.INVALID_VALUE


def test_similar_ids_are_looked_for_when_the_id_is_short() -> None:
    served = [("envwire", "CartPole-v1")]
    assert "did you mean CartPole-v1?" in unknown_environment("CartPol-v1", served).message
    long = "x" * 100
    assert "did you mean" not in unknown_environment(long, [("envwire", long + "y")]).message
