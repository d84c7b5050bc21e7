"""Which sessions are watched for a server that falls silent: those that another server could replace."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from envwire.client._drivers.failure_detection import FailureDetector, GatewayDetector
from envwire.client._recovery.session_maker import SessionMaker
from envwire.codec import envwire_family
from envwire.v1 import environment_pb2 as pb


@pytest.mark.parametrize(
    ("moves", "targets", "target", "elsewhere", "detector"),
    [
        (True, 2, "a:1", False, FailureDetector),
        (True, 1, "a:1", True, GatewayDetector),
        (True, 1, "a:1", False, None),
        (True, 1, None, True, None),
        (False, 2, "a:1", True, None),
    ],
)
def test_a_silent_server_is_noticed_where_there_is_another(
    moves: bool, targets: int, target: str | None, elsewhere: bool, detector: Any
) -> None:
    options = SimpleNamespace(credentials=None)
    servers: Any = SimpleNamespace(targets=["a:1", "b:1"][:targets], options=options)
    strategy: Any = SimpleNamespace(moves=moves)
    answer = pb.MakeResponse(session_id="x", address="b:1")
    made: Any = SimpleNamespace(target=target, elsewhere=elsewhere, answer=answer)
    maker = SessionMaker(servers, pb.MakeRequest(env_id="CartPole-v1"), envwire_family())
    found = maker.detector(strategy, made)
    assert (None if found is None else type(found)) is detector
