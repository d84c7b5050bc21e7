"""A large or malformed Make does not stall the front for other clients."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from envwire.v1 import environment_pb2 as pb
from envwire.v1 import values_pb2
from tests.adversary.client import RefusedError
from tests.adversary.ledger import balanced, peak_within
from tests.adversary.messages import make_request
from tests.adversary.servers import PUBLIC, Target, attacked

SLEEPER = "adversary/Sleeper-v0"
#: What the front may take while a Make comes in. gRPC has no limit for one method alone, so a message is taken in
#: whole, in three copies, before it is refused: 96 MiB for 32 MiB, 11 to 16 MiB for 4 MiB.
COPIES, SPARE_BYTES = 3, 16 * 2**20


@pytest.fixture(params=["public", "loopback"])
def target(request: pytest.FixtureRequest) -> Iterator[Target]:
    with attacked(SLEEPER, **(PUBLIC if request.param == "public" else {})) as target:
        yield target


def wrappers(size: int) -> bytes:
    """Returns a Make of many wrappers without a name, two bytes each."""
    one = pb.MakeRequest(wrappers=[pb.WrapperRequest()]).SerializeToString()
    return make_request(SLEEPER).SerializeToString() + one * (size // len(one))


def kwargs(size: int) -> bytes:
    """Returns a Make of many keyword arguments without a name."""
    entry = values_pb2.ValueMap(entries=[values_pb2.ValueEntry()]).SerializeToString()
    entries = values_pb2.ValueMap.FromString(entry * (size // len(entry)))
    return (
        make_request(SLEEPER).SerializeToString()
        + pb.MakeRequest(kwargs=entries).SerializeToString()
    )


def env_id(size: int) -> bytes:
    """Returns a Make of an id of many letters."""
    return make_request("adversary/" + "a" * size).SerializeToString()


@pytest.mark.parametrize(
    "size",
    [
        pytest.param(4 * 2**20, id="4 MiB"),
        pytest.param(32 * 2**20, id="32 MiB", marks=pytest.mark.long),
    ],
)
@pytest.mark.parametrize("content", [wrappers, kwargs, env_id])
def test_a_huge_make_is_refused_at_once(target: Target, content: object, size: int) -> None:
    assert callable(content)
    with (
        balanced(target),
        peak_within(target, COPIES * size + SPARE_BYTES),
        target.attacker() as attacker,
    ):
        call = attacker.begin("Make", content(size), seconds=120.0)
        with target.attacker() as visitor:
            assert visitor.healthy()
        with pytest.raises(RefusedError):
            call.answer()
    assert target.traces() == []
